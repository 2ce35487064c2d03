#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace fuzz {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 18;

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

/// Begin and length of a random run of characters that `belongs`; length 0 where there is none.
template <class Belongs>
std::pair<std::size_t, std::size_t> run_of(const std::string& text, Random& random,
                                           Belongs belongs) {
  const std::size_t start = below(random, text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t begin = (start + i) % text.size();
    if (!belongs(text[begin])) continue;
    while (begin > 0 && belongs(text[begin - 1])) --begin;
    std::size_t end = begin;
    while (end < text.size() && belongs(text[end])) ++end;
    return {begin, end - begin};
  }
  return {0, 0};
}

void change_bytes(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = below(random, text.size() + 1);
  const std::size_t length = below(random, std::min<std::size_t>(64, text.size() - at + 1));
  switch (below(random, 7)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
      return;
    case 1:
      text.insert(at, 1, static_cast<char>(below(random, 256)));
      return;
    case 2:
      text.erase(at, length);
      return;
    case 3:
      text.insert(at, text.substr(at, length));
      return;
    case 4:
      text.resize(at);
      return;
    case 5:
      text.insert(at, 1, "[]{}\"',.:=#\n\\"[below(random, 14)]);
      return;
    default: {
      const std::size_t from = below(random, other.size() + 1);
      text.replace(at, length, other.substr(from, below(random, 200)));
    }
  }
}

void change_number(std::string& text, Random& random) {
  static const std::vector<std::string> awkward{"-1",
                                                "0",
                                                "1",
                                                "2",
                                                "3",
                                                "7",
                                                "-0",
                                                "2.9",
                                                "2.0",
                                                "1e3",
                                                "1e-320",
                                                "1e308",
                                                "1e999",
                                                "nan",
                                                "inf",
                                                "-inf",
                                                "true",
                                                "null",
                                                "\"2\"",
                                                "[]",
                                                "{}",
                                                "[1]",
                                                "65536",
                                                "1000000",
                                                "2147483647",
                                                "2147483648",
                                                "4294967296",
                                                "4294967298",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551616",
                                                "0x10",
                                                "1_000",
                                                "2020-01-01",
                                                "1" + repeated("0", 300),
                                                "0." + repeated("3", 300)};
  const auto [begin, length] =
      run_of(text, random, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
  text.replace(begin, length, awkward[below(random, awkward.size())]);
}

void change_word(std::string& text, const std::string& other, Random& random) {
  static const std::vector<std::string> awkward{"",
                                                "x",
                                                "forward",
                                                "compute",
                                                "dropless",
                                                "sgd",
                                                "48G",
                                                "9999999999G",
                                                "\xFF",
                                                "\\u0000",
                                                "a.b.c",
                                                "\"\"\"",
                                                "'''",
                                                repeated("y", 5000),
                                                repeated("a.", 40000) + "b"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto [begin, length] = run_of(text, random, letter);
  std::string word = awkward[below(random, awkward.size())];
  if (below(random, 2) == 0) {
    const auto [from, other_length] = run_of(other, random, letter);
    word = other.substr(from, other_length);
  }
  text.replace(begin, length, word);
}

void change_nesting(std::string& text, Random& random) {
  static constexpr std::array<std::string_view, 5> kOpening{"[", "{", "{\"a\":", "{a = ", "[["};
  constexpr std::array<std::size_t, 5> kTimes{1, 10, 63, 200, 30000};
  text.insert(below(random, text.size() + 1),
              repeated(kOpening[below(random, kOpening.size())], kTimes[below(random, 5)]));
}

/// A line, or what stands between commas, doubled or moved.
void change_order(std::string& text, Random& random) {
  const char separator = below(random, 2) == 0 ? '\n' : ',';
  const auto [begin, length] = run_of(text, random, [&](char c) { return c != separator; });
  std::string part = text.substr(begin, length) + separator;
  switch (below(random, 3)) {
    case 0:
      text.insert(begin, part);
      return;
    case 1:
      text.erase(begin, part.size());
      return;
    default:
      text.erase(begin, part.size());
      text.insert(below(random, text.size() + 1), part);
  }
}

}  // namespace

std::string mutant(const std::vector<std::string>& samples, Random& random) {
  std::string text = samples[below(random, samples.size())];
  const std::string& other = samples[below(random, samples.size())];
  const std::size_t changes = 1 + below(random, 6);
  for (std::size_t i = 0; i < changes; ++i) {
    switch (below(random, 10)) {
      case 0:
      case 1:
      case 2:
        change_bytes(text, other, random);
        break;
      case 3:
      case 4:
      case 5:
        change_number(text, random);
        break;
      case 6:
      case 7:
        change_word(text, other, random);
        break;
      case 8:
        change_order(text, random);
        break;
      default:
        change_nesting(text, random);
    }
    if (text.size() > kMostBytes) text.resize(kMostBytes);
  }
  return text;
}

}  // namespace fuzz
