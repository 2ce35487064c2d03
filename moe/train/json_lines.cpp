#include "moe/train/json_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/train/gzip.h"

namespace moe {
namespace {

constexpr std::string_view kText = "text";

/// The text of a line. May be empty, as no text of a file's keys may.
std::string text_of_line(std::string_view line, const std::string& name, int number) {
  const InputDocument document = parse_json(line, name, JsonNumbers::python, number);
  const InputObject object = document.root().object("an object with a \"text\"");
  if (!object.has(kText)) {
    object.refuse(
        kText, fmt::format("missing: the keys are {}; expected the text in \"text\", as "
                           "jq -c '{{text: .KEY}}' puts it there",
                           db::shortened(fmt::format("{}", fmt::join(object.keys(), ", ")), 200)));
  }
  const InputValue text = object.member(kText);
  return text.is("") ? std::string() : text.text();
}

}  // namespace

JsonLines read_json_lines(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string_view all{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::string name = path.string();
  JsonLines lines;
  int number = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = all.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string text = text_of_line(line, name, number);
    if (text.empty()) continue;
    lines.documents.push_back(static_cast<std::int64_t>(lines.text.size()));
    const auto of_text = std::as_bytes(std::span(text));
    lines.text.insert(lines.text.end(), of_text.begin(), of_text.end());
    if (text.back() != '\n') lines.text.push_back(std::byte{'\n'});
    if (static_cast<std::int64_t>(lines.text.size()) > kMostUnpackedBytes) {
      throw InputError(
          fmt::format("{}:{}: has texts of more than {} bytes, which every rank would "
                      "hold: expected them as text: jq -r .text FILE > X.txt",
                      name, number, kMostUnpackedBytes));
    }
  }
  return lines;
}

}  // namespace moe
