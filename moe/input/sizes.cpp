#include "moe/input/sizes.h"

#include <fmt/format.h>

#include <string>

#include "db/console/shown_text.h"
#include "db/console/size.h"
#include "moe/errors.h"

namespace moe {
namespace {

constexpr std::size_t kMostSizes = 1000;

void append_range(std::string_view part, std::vector<std::int64_t>& sizes) {
  const auto ends = split(part, ':');
  if (ends.size() == 1) {
    sizes.push_back(parse_size(part));
    return;
  }
  std::string meant = "64K:1M:x2";  // what it may have been meant to be
  const auto fail = [&](std::string_view why) {
    throw Refusal(fmt::format("size range \"{}\"", db::shortened(part)), why,
                  fmt::format("expected FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as {}", meant));
  };
  for (const std::string_view end : ends) {
    if (end.empty()) fail("a part is empty");
  }
  if (ends.size() > 3) fail(fmt::format("{} parts", ends.size()));
  const std::int64_t first = parse_size(ends[0]), last = parse_size(ends[1]);
  const bool falls = first > last;
  const bool steps =
      ends.size() == 3 && ends[2].size() > 1 && (ends[2][0] == 'x' || ends[2][0] == '+');
  meant = fmt::format("{}:{}:{}", ends[falls ? 1 : 0], ends[falls ? 0 : 1],
                      steps ? ends[2] : std::string_view("x2"));
  if (falls) fail(fmt::format("FIRST, {}, is greater than LAST, {}", ends[0], ends[1]));
  if (ends.size() == 2) fail("it does not say how sizes grow");
  if (!steps) fail(fmt::format("\"{}\" is no xFACTOR or +STEP", ends[2]));
  const std::int64_t step = parse_size(ends[2].substr(1));
  const bool multiply = ends[2][0] == 'x';
  if (step < (multiply ? 2 : 1)) fail("the sizes would not grow");
  if (multiply && first == 0) fail("0 does not grow by a factor");
  for (std::int64_t size = first; size <= last; size = multiply ? size * step : size + step) {
    if (sizes.size() == kMostSizes) fail(fmt::format("more than {} sizes", kMostSizes));
    sizes.push_back(size);
    if (size > last / (multiply ? step : 1)) break;  // the next one could overflow
  }
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::int64_t parse_size(std::string_view text) {
  if (const auto size = db::parse_size(text)) return *size;
  throw Refusal("", fmt::format("size \"{}\"", db::shortened(text)),
                "expected a whole number below 2^63, or one with K, M, G or T (powers of 1024)");
}

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (std::string_view part : split(text, ',')) append_range(part, sizes);
  return sizes;
}

}  // namespace moe
