#include "tuner/search/candidate_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/console/progress.h"
#include "moe/errors.h"
#include "tuner/machine/slowdown.h"
#include "tuner/search/in_parallel.h"

namespace tuner {
namespace {

/// What the bound of uneven loads may lose by rounding rows to whole ones.
constexpr double kRounding = 0.98;

constexpr const char* kStates = "parameters, gradients and optimizer exceed the memory of a rank";

/// Whether the order can differ from that of another planner on such a setup.
bool is_apart(Passes passes, const TrainingSetup& setup) {
  if (passes == Passes::one_after_other) return true;
  const bool on_one_stage = passes == Passes::exchanges_hidden;
  return setup.micro_batches > 1 && on_one_stage == (setup.layout.pipeline == 1);
}

/// The factor by which ranks may be faster than costs say.
double fastest(const SearchedSetups& searched) {
  double least = searched.scenario.routing == "uniform" ? 1 : kRounding;
  for (const Slowdowns& slowdowns : searched.costs.costed.costs.slowdowns) {
    if (!slowdowns.empty()) least = std::min(least, kRounding * std::ranges::min(slowdowns));
  }
  return least;
}

double least_s(const SearchedSetups& searched, const SetupPieces& pieces,
               const TrainingSetup& setup, Passes passes) {
  return fastest(searched) * bound_s(pieces, searched.model, setup, passes);
}

/// Where setups of another layout begin, and the end.
std::vector<std::size_t> first_of_layouts(const std::vector<TrainingSetup>& setups) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < setups.size(); ++i) {
    if (i == 0 || !(setups[i - 1].layout == setups[i].layout)) first.push_back(i);
  }
  first.push_back(setups.size());
  return first;
}

/// `known`: the setup itself, or the one with fewer micro-batches whose costs are known.
std::vector<SearchCandidate> candidates_of_setup(const SearchedSetups& searched,
                                                 const std::vector<const Planner*>& orders,
                                                 std::size_t i, std::size_t known) {
  const TrainingSetup& setup = searched.space.setups[i];
  const SetupCosts& costs = *searched.known[known].costs;
  const std::int64_t limit = searched.memory_bytes();
  std::vector<SearchCandidate> found;
  const auto add = [&](const SetupPieces& pieces, bool sharded) {
    const bool too_large = limit > 0 && state_bytes(pieces, searched.model, setup) > limit;
    for (const Planner* const order : orders) {
      if (!is_apart(order->passes, setup)) continue;
      SearchCandidate& one = found.emplace_back(SearchCandidate{i, order, sharded});
      if (too_large) one.out = kStates;
      one.known = known == i ? Known::pieces : Known::layout;
      one.least_s =
          known == i
              ? least_s(searched, pieces, setup, order->passes)
              : kRounding *
                    least_s(searched,
                            in_micro_batches(pieces, searched.space.setups[known].micro_batches,
                                             setup.micro_batches),
                            setup, order->passes);
    }
  };
  add(costs.whole, false);
  for (const SetupPieces& pieces : costs.sharded) add(pieces, true);
  return found;
}

std::vector<SearchCandidate> candidates_of_layout(SearchedSetups& searched,
                                                  const std::vector<const Planner*>& orders,
                                                  bool larger_is_no_slower, std::size_t begin,
                                                  std::size_t end) {
  const std::vector<TrainingSetup>& setups = searched.space.setups;
  std::size_t fewest = begin;
  for (std::size_t i = begin; i < end; ++i) {
    if (setups[i].micro_batches < setups[fewest].micro_batches) fewest = i;
  }
  const std::string refused = refusal_of_costs(searched, fewest);
  std::vector<SearchCandidate> all;
  for (std::size_t i = begin; i < end; ++i) {
    const bool by_fewest = i != fewest && refused.empty() && larger_is_no_slower;
    const std::string refusal = i == fewest ? refused
                                : by_fewest ? ""
                                            : refusal_of_costs(searched, i);
    if (!refusal.empty()) {
      all.push_back({.setup = i, .out = refusal});
    } else {
      std::ranges::move(candidates_of_setup(searched, orders, i, by_fewest ? fewest : i),
                        std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace

std::vector<SearchCandidate> bounded_candidates(SearchedSetups& searched,
                                                const std::vector<const Planner*>& orders) {
  const std::vector<std::size_t> layouts = first_of_layouts(searched.space.setups);
  const bool no_slower = larger_is_no_slower(searched.costs.costed.costs);
  std::vector<std::vector<SearchCandidate>> of_layout(layouts.size() - 1);
  db::Progress progress(fmt::format("search: bounds of {} layouts", of_layout.size()),
                        static_cast<double>(of_layout.size()));
  in_parallel(
      of_layout.size(),
      [&](std::size_t i) {
        of_layout[i] =
            candidates_of_layout(searched, orders, no_slower, layouts[i], layouts[i + 1]);
      },
      [&](std::size_t ended) { progress.at(static_cast<double>(ended)); });
  std::vector<SearchCandidate> candidates;
  for (auto& some : of_layout) std::ranges::move(some, std::back_inserter(candidates));
  return candidates;
}

std::string refusal_of_costs(SearchedSetups& searched, std::size_t setup_index) {
  KnownOfSetup& known = searched.known[setup_index];
  if (known.costs) return "";
  const TrainingSetup& setup = searched.space.setups[setup_index];
  try {
    known.costs =
        setup_costs(searched.model, setup, searched.costs.costed, searched.scenario.routing);
  } catch (const moe::Refusal& refusal) {
    return without_numbers(refusal.what());
  } catch (const moe::InputError& error) {
    return without_numbers(error.what());
  }
  const SetupPieces& pieces =
      known.costs->sharded.empty() ? known.costs->whole : known.costs->sharded.front();
  known.any_s = least_s(searched, pieces, setup, Passes::undecided);
  return "";
}

double bound_of_pieces(const SearchedSetups& searched, const SearchCandidate& one) {
  const SetupCosts& costs = *searched.known[one.setup].costs;
  return least_s(searched, one.sharded ? costs.sharded.front() : costs.whole,
                 searched.space.setups[one.setup], one.order->passes);
}

}  // namespace tuner
