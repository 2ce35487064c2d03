#include "moe/rows/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "moe/errors.h"

namespace moe {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr std::size_t kNearest = 3;

struct Degree {
  std::string_view key;
  int Layout::*member;
  bool makes_ranks;  ///< their product is the number of ranks
};
constexpr std::array kDegrees{
    Degree{"dp", &Layout::data, true}, Degree{"ep", &Layout::expert, true},
    Degree{"esp", &Layout::expert_sharded, true}, Degree{"tp", &Layout::tensor, false},
    Degree{"pp", &Layout::pipeline, true}};

using Asked = std::array<std::optional<int>, kDegrees.size()>;

int degree_in(std::string_view key, std::string_view value) {
  int degree = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), degree);
  if (error != std::errc() || end != value.data() + value.size() || degree < 1 ||
      degree > kMostRanks) {
    throw Refusal("layout", fmt::format("{} = {}", key, value),
                  fmt::format("expected a number from 1 to {}", kMostRanks));
  }
  return degree;
}

Asked read(std::string_view text) {
  Asked asked;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const auto found = std::find_if(kDegrees.begin(), kDegrees.end(),
                                    [&](const Degree& degree) { return degree.key == key; });
    if (found == kDegrees.end() || equals == std::string_view::npos) {
      std::vector<std::string_view> keys;
      for (const Degree& degree : kDegrees) keys.push_back(degree.key);
      throw Refusal("layout", fmt::format("\"{}\"", part),
                    fmt::format("expected degrees such as dp=2,ep=4; the keys are {}",
                                fmt::join(keys, ", ")));
    }
    std::optional<int>& degree = asked[found - kDegrees.begin()];
    if (degree) {
      throw Refusal("layout", fmt::format("{} is given twice", key), "expected each degree once");
    }
    degree = degree_in(key, part.substr(equals + 1));
  }
  return asked;
}

double distance(const Layout& a, const Layout& b) {
  double sum = 0;
  for (const Degree& degree : kDegrees) {
    sum += std::abs(std::log(static_cast<double>(a.*degree.member) / (b.*degree.member)));
  }
  return sum;
}

/// Only layouts that fit, where there are any.
std::vector<std::string> nearest_texts(const Layout& asked, int ranks, const LayoutFits& fits) {
  std::vector<Layout> layouts = nearest_layouts(asked, ranks);
  if (fits && std::any_of(layouts.begin(), layouts.end(), fits)) {
    std::erase_if(layouts, [&](const Layout& layout) { return !fits(layout); });
  }
  std::vector<std::string> texts;
  for (const Layout& layout : layouts) {
    if (texts.size() < kNearest) texts.push_back(to_text(layout));
  }
  return texts;
}

}  // namespace

std::vector<int> divisors(int number) {
  std::vector<int> found, above_root;
  for (int d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    found.push_back(d);
    if (d < number / d) above_root.push_back(number / d);
  }
  found.insert(found.end(), above_root.rbegin(), above_root.rend());
  return found;
}

std::vector<Layout> nearest_layouts(const Layout& wanted, int ranks) {
  std::vector<std::pair<double, Layout>> all;
  for (const int stages : divisors(ranks)) {
    for (const int shards : divisors(ranks / stages)) {
      for (const int experts : divisors(ranks / stages / shards)) {
        for (const int tensor : divisors(wanted.tensor)) {
          if (ranks / stages % tensor != 0) continue;
          const Layout layout{ranks / stages / shards / experts, experts, shards, tensor, stages};
          all.emplace_back(distance(layout, wanted), layout);
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Layout> layouts;
  for (const auto& [by, layout] : all) layouts.push_back(layout);
  return layouts;
}

int stage_ranks(const Layout& layout) {
  return layout.data * layout.expert * layout.expert_sharded;
}
int rank_count(const Layout& layout) { return stage_ranks(layout) * layout.pipeline; }

std::string to_text(const Layout& layout) {
  std::string text;
  for (const Degree& degree : kDegrees) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", degree.key, layout.*degree.member);
  }
  return text;
}

Layout layout_from_text(std::string_view text) {
  const Asked asked = read(text);
  Layout layout;
  for (std::size_t i = 0; i < kDegrees.size(); ++i) {
    layout.*kDegrees[i].member = asked[i].value_or(1);
  }
  return layout;
}

std::string short_text(const Layout& layout) {
  std::string text;
  for (const Degree& degree : kDegrees) {
    if (layout.*degree.member == 1 && degree.member != &Layout::expert) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", degree.key, layout.*degree.member);
  }
  return text;
}

Layout parse_layout(std::string_view text, int ranks, const LayoutFits& fits) {
  const Asked asked = read(text);
  Layout layout = layout_from_text(text);
  double product = 1;
  for (std::size_t i = 0; i < kDegrees.size(); ++i) {
    if (kDegrees[i].makes_ranks) product *= asked[i].value_or(1);
  }
  const bool expert_given = asked[1].has_value();
  if (!expert_given && product <= ranks && ranks % static_cast<int>(product) == 0) {
    layout.expert = ranks / static_cast<int>(product);
  } else if (product != ranks) {
    throw Refusal(
        "", fmt::format("layout {} makes {} ranks, but there are {}", text, product, ranks),
        fmt::format("nearest: {}", fmt::join(nearest_texts(layout, ranks, fits), " or ")));
  }
  const int in_stage = stage_ranks(layout);
  if (in_stage % layout.tensor != 0) {
    throw Refusal("layout",
                  fmt::format("tp = {} does not divide {} ranks{}", layout.tensor, in_stage,
                              layout.pipeline > 1 ? " of a stage" : ""),
                  fmt::format("expected {}", fmt::join(divisors(in_stage), ", ")));
  }
  return layout;
}

}  // namespace moe
