#include "tuner/search/setup_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/limits.h"

namespace tuner {
namespace {

struct RangedDegree {
  std::string_view key;
  int moe::Layout::*member;
};
constexpr std::array kRangedDegrees{
    RangedDegree{"dp", &moe::Layout::data}, RangedDegree{"ep", &moe::Layout::expert},
    RangedDegree{"esp", &moe::Layout::expert_sharded}, RangedDegree{"tp", &moe::Layout::tensor},
    RangedDegree{"pp", &moe::Layout::pipeline}};

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

bool is_within(const moe::Layout& layout, const LayoutRange& range) {
  return std::ranges::all_of(kRangedDegrees, [&](const RangedDegree& degree) {
    const int value = layout.*degree.member;
    return value >= range.least.*degree.member && value <= range.most.*degree.member;
  });
}

/// Whether degrees of experts divide anything.
bool divides_experts(const moe::Layout& layout) {
  return layout.expert > 1 || layout.expert_sharded > 1;
}

bool has_experts(const moe::Model& model) {
  for (int block = 0; block < model.blocks; ++block) {
    if (moe::has_experts(model, block)) return true;
  }
  return false;
}

std::vector<moe::Layout> all_layouts(int ranks) {
  std::vector<moe::Layout> layouts;
  for (const int stages : moe::divisors(ranks)) {
    for (const int tensor : moe::divisors(ranks / stages)) {
      for (const int shards : moe::divisors(ranks / stages)) {
        for (const int experts : moe::divisors(ranks / stages / shards)) {
          layouts.push_back({ranks / stages / shards / experts, experts, shards, tensor, stages});
        }
      }
    }
  }
  return layouts;
}

/// Why the model refuses the setup with its own batch_per; none where it takes it, with the other
/// one too.
std::optional<std::string> refusal_of(const moe::Model& model, TrainingSetup& setup) {
  auto refusal = moe::layout_refusal(with_setup(model, setup), setup.layout);
  if (!refusal) return std::nullopt;
  if (setup.layout.tensor > 1) {
    setup.batch_per =
        model.batch_per == moe::BatchPer::rank ? moe::BatchPer::tp_group : moe::BatchPer::rank;
    if (!moe::layout_refusal(with_setup(model, setup), setup.layout)) return std::nullopt;
  }
  return std::move(refusal->message);
}

std::vector<int> divisors_of_batch(const moe::Model& model) {
  std::vector<int> counts;
  for (int count = 1; count <= std::min<std::int64_t>(model.global_batch, moe::kMostMicroBatches);
       ++count) {
    if (model.global_batch % count == 0) counts.push_back(count);
  }
  return counts;
}

}  // namespace

std::string without_numbers(std::string_view message) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string text;
  for (std::size_t i = 0; i < message.size();) {
    const std::size_t begin = i;
    while (i < message.size() && is_word(message[i])) ++i;
    if (i == begin) ++i;
    const std::string_view part = message.substr(begin, i - begin);
    const bool is_number = part.find_first_not_of("0123456789") == std::string_view::npos;
    text += is_number ? "N" : part;
  }
  return text;
}

LayoutRange usual_layouts(int ranks_per_node) {
  LayoutRange range;
  if (ranks_per_node > 1) range.most.tensor = range.most.expert_sharded = ranks_per_node;
  range.beyond = "tp or esp over several nodes, which --layouts all tries";
  return range;
}

std::optional<LayoutRange> parse_layout_range(std::string_view text) {
  if (text == "usual") return std::nullopt;
  LayoutRange range;
  if (text == "all") return range;
  std::set<std::string_view> said;
  for (const std::string_view part : moe::split(text, ',')) {
    const auto refuse = [&] {
      throw moe::InputError(fmt::format(
          "--layouts {}: \"{}\": expected usual, all, or degrees of dp, ep, esp, tp, pp, as in "
          "tp=1..8,ep=4",
          text, part));
    };
    const auto equals = part.find('=');
    const auto degree =
        std::ranges::find(kRangedDegrees, part.substr(0, equals), &RangedDegree::key);
    if (equals == std::string_view::npos || degree == kRangedDegrees.end()) refuse();
    if (!said.insert(degree->key).second) {
      throw moe::InputError(fmt::format("--layouts {}: {} stands there twice", text, degree->key));
    }
    const std::string_view values = part.substr(equals + 1);
    const auto dots = values.find("..");
    const auto least = number_of(values.substr(0, dots));
    const auto most = dots == std::string_view::npos ? least : number_of(values.substr(dots + 2));
    if (!least || !most || *least > *most) refuse();
    range.least.*degree->member = *least;
    range.most.*degree->member = *most;
  }
  return range;
}

std::optional<std::vector<int>> parse_micro_batches(std::string_view text) {
  if (text == "all") return std::nullopt;
  std::vector<int> counts;
  for (const std::string_view part : moe::split(text, ',')) {
    const auto count = number_of(part);
    if (!count || *count > moe::kMostMicroBatches) {
      throw moe::InputError(fmt::format(
          "--micro-batches {}: \"{}\": expected all, or numbers from 1 to {} with commas between "
          "them",
          text, part, moe::kMostMicroBatches));
    }
    if (std::ranges::find(counts, *count) != counts.end()) {
      throw moe::InputError(fmt::format("--micro-batches {}: {} stands there twice", text, *count));
    }
    counts.push_back(*count);
  }
  return counts;
}

SetupSpace setups_of(const moe::Model& model, int ranks, const LayoutRange& range,
                     const std::optional<std::vector<int>>& micro_batches) {
  const std::vector<int> counts = micro_batches ? *micro_batches : divisors_of_batch(model);
  const bool any_experts = has_experts(model);
  SetupSpace space;
  for (const moe::Layout& layout : all_layouts(ranks)) {
    if (!is_within(layout, range)) {
      if (!range.beyond.empty()) ++space.refused[std::string(range.beyond)];
      continue;
    }
    if (!any_experts && divides_experts(layout)) {
      ++space.refused["no block has experts for ep or esp to divide"];
      continue;
    }
    std::optional<std::string> first_refusal;
    const std::size_t before = space.setups.size();
    for (const int count : counts) {
      TrainingSetup setup{layout, model.batch_per, count};
      if (auto refusal = refusal_of(model, setup)) {
        if (!first_refusal) first_refusal = std::move(refusal);
      } else {
        space.setups.push_back(setup);
      }
    }
    if (space.setups.size() > before) {
      ++space.layouts;
    } else if (first_refusal) {
      ++space.refused[without_numbers(*first_refusal)];
    }
  }
  return space;
}

}  // namespace tuner
