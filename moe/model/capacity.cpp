#include "moe/model/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "db/experts_in_order.h"

namespace moe {
namespace {

/// digits * 10^exponent
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

Decimal shortest_decimal(double value) {
  std::array<char, 32> buffer{};  // ends with 0 wherever the text does
  // "1.25e+00"
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mantissa = text.find('e');
  Decimal decimal;
  for (const char c : text.substr(0, mantissa)) {
    if (c != '.') decimal.digits = decimal.digits * 10 + (c - '0');
  }
  const int fraction = mantissa > 1 ? static_cast<int>(mantissa) - 2 : 0;
  decimal.exponent = std::atoi(buffer.data() + mantissa + 1) - fraction;
  return decimal;
}

}  // namespace

std::int64_t expert_capacity(int choices, double factor, std::int64_t group_tokens, int experts) {
  if (choices < 1 || group_tokens < 1 || experts < 1 || !(factor > 0) || !std::isfinite(factor) ||
      group_tokens > (std::int64_t{1} << 40) / choices) {
    throw std::invalid_argument(
        fmt::format("expert_capacity: {} choices, factor {}, {} tokens in a group, {} experts",
                    choices, factor, group_tokens, experts));
  }
  const double nearly = choices * factor * static_cast<double>(group_tokens) / experts;
  if (nearly < 0.5) return 1;
  if (nearly > 2 * static_cast<double>(group_tokens)) return group_tokens;
  // Between them, digits < 10^17, k T <= 2^40 and 10^-exponent < 10^30 keep all products below
  // 2^127.
  const Decimal decimal = shortest_decimal(factor);
  unsigned __int128 copies = static_cast<unsigned __int128>(decimal.digits) *
                             static_cast<unsigned __int128>(choices * group_tokens);
  unsigned __int128 shares = static_cast<unsigned __int128>(experts);
  for (int i = 0; i < decimal.exponent; ++i) copies *= 10;
  for (int i = 0; i > decimal.exponent; --i) shares *= 10;
  const auto capacity = static_cast<std::int64_t>((copies + shares - 1) / shares);
  return std::clamp<std::int64_t>(capacity, 1, group_tokens);
}

std::int64_t most_rows_sent(std::int64_t capacity, int groups, int experts, int choices,
                            std::int64_t tokens) {
  return std::min(capacity * groups * experts, tokens * choices);
}

std::int64_t most_rows_received(std::int64_t capacity, int groups, int experts, int choices,
                                std::int64_t tokens, int expert_ranks) {
  const int here = db::ExpertsInOrder{experts, expert_ranks}.most();
  return std::min(capacity * groups * here * expert_ranks,
                  tokens * expert_ranks * std::min(choices, here));
}

}  // namespace moe
