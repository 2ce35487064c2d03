#include "moe/communicator/handed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "moe/errors.h"

namespace moe {
namespace {

constexpr std::string_view kHead = "moelab-inputs ";

/// The text to the next line break, which is taken away with it.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

// A line with the bytes that follow, one of the reader, one of its build, the text.
std::string to_text(const HandedInputs& inputs) {
  const std::string all = fmt::format("{}\n{}\n{}", inputs.reader, inputs.build, inputs.text);
  return fmt::format("{}{}\n{}", kHead, all.size(), all);
}

HandedInputs handed_inputs(std::string_view text) {
  const std::size_t given = text.size();
  const std::string_view head = take_line(text);
  std::uint64_t bytes = 0;
  const std::string_view number = head.substr(std::min(kHead.size(), head.size()));
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  if (!head.starts_with(kHead) || error != std::errc() || end != number.data() + number.size() ||
      bytes != text.size()) {
    throw InputError(
        fmt::format("stdin of rank 0 has {} bytes, and not the inputs that the process which "
                    "started the ranks hands over: expected a launcher that passes its stdin on to "
                    "rank 0",
                    given));
  }
  HandedInputs inputs;
  inputs.reader = take_line(text);
  inputs.build = take_line(text);
  inputs.text = text;
  return inputs;
}

}  // namespace moe
