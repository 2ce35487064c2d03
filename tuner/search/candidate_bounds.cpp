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
constexpr const char* kUnderWay = "micro-batches under way exceed the memory of a rank";

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

/// Leaves the candidate out where it does not fit, else raises its least time. `rounding`: what the
/// pieces' times may be too long.
void bound_by(const SearchedSetups& searched, const SetupPieces& pieces, double rounding,
              SearchCandidate& one) {
  const TrainingSetup& setup = searched.space.setups[one.setup];
  const std::int64_t limit = searched.memory_bytes();
  const Passes passes = one.order->passes;
  const auto exceeds = [&](std::int64_t bytes, const char* why) {
    if (limit == 0 || bytes <= limit) return false;
    one.out = why;
    one.needed_bytes = bytes;
    return true;
  };
  if (!exceeds(state_bytes(pieces, searched.model, setup), kStates) &&
      !exceeds(least_bytes(pieces, searched.model, setup, passes), kUnderWay)) {
    const double bound = bound_s(pieces, searched.model, setup, passes, limit);
    one.least_s = std::max(one.least_s, rounding * fastest(searched) * bound);
  }
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
  std::vector<SearchCandidate> found;
  const auto add = [&](const SetupPieces& pieces, bool sharded) {
    for (const Planner* const order : orders) {
      if (!is_apart(order->passes, setup)) continue;
      SearchCandidate& one = found.emplace_back(SearchCandidate{i, order, sharded});
      one.known = known == i ? Known::pieces : Known::layout;
      bound_by(searched, pieces, known == i ? 1 : kRounding, one);
    }
  };
  const auto own = [&](const SetupPieces& pieces) {
    if (known == i) return pieces;
    return in_micro_batches(pieces, searched.space.setups[known].micro_batches, setup.micro_batches,
                            static_cast<int>(searched.model.experts));
  };
  add(own(costs.whole), false);
  for (const SetupPieces& pieces : costs.sharded) add(own(pieces), true);
  return found;
}

/// Works out the costs of the setup's own pieces, unless they are known. "" where there are some,
/// else the refusal without its numbers. `most`: as of setup_costs.
std::string refusal_of_costs(SearchedSetups& searched, std::size_t setup_index, int most = 0) {
  KnownOfSetup& known = searched.known[setup_index];
  if (known.costs) return "";
  const TrainingSetup& setup = searched.space.setups[setup_index];
  try {
    known.costs =
        setup_costs(searched.model, setup, searched.costs.costed, searched.scenario.routing, most);
  } catch (const moe::Refusal& refusal) {
    return without_numbers(refusal.what());
  } catch (const moe::InputError& error) {
    return without_numbers(error.what());
  }
  const SetupPieces& pieces =
      known.costs->sharded.empty() ? known.costs->whole : known.costs->sharded.front();
  known.any_s = fastest(searched) * bound_s(pieces, searched.model, setup, Passes::undecided);
  return "";
}

std::vector<SearchCandidate> candidates_of_layout(SearchedSetups& searched,
                                                  const std::vector<const Planner*>& orders,
                                                  bool larger_is_no_slower, std::size_t begin,
                                                  std::size_t end) {
  const std::vector<TrainingSetup>& setups = searched.space.setups;
  std::size_t fewest = begin;
  int most = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (setups[i].micro_batches < setups[fewest].micro_batches) fewest = i;
    most = std::max(most, setups[i].micro_batches);
  }
  const std::string refused = refusal_of_costs(searched, fewest, larger_is_no_slower ? most : 0);
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

void bound_by_own_pieces(SearchedSetups& searched, SearchCandidate& one) {
  one.known = Known::pieces;
  one.out = refusal_of_costs(searched, one.setup);
  if (!one.out.empty()) return;
  const SetupCosts& costs = *searched.known[one.setup].costs;
  bound_by(searched, one.sharded ? costs.sharded.front() : costs.whole, 1, one);
}

}  // namespace tuner
