#include "tuner/search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "db/console/format_rows.h"
#include "db/console/progress.h"
#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "tuner/search/candidate_bounds.h"
#include "tuner/search/closer_look.h"
#include "tuner/search/in_parallel.h"

namespace tuner {
namespace {

/// Candidates that are looked at together: a constant, so that results do not depend on cores.
constexpr std::size_t kAtOnce = 8;

constexpr const char* kByPieces = "cannot be faster, by the work of its stages";
constexpr const char* kByProgram = "cannot be faster, by the lower bound of its schedule";
constexpr const char* kSlower = "simulated, slower";
constexpr const char* kSameLayout = "another setup or order of the same layout was taken";
constexpr const char* kSameKind = "another setup with its tp and pp is faster";

/// The candidates by the time that they cannot beat, of which the best are taken.
class BestFirst {
 public:
  BestFirst(SearchedSetups& searched, std::vector<SearchCandidate>& candidates,
            const SearchOptions& options)
      : searched_(searched),
        candidates_(candidates),
        top_(static_cast<std::size_t>(options.top)),
        slower_(1 + options.later_rows_within) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].out.empty()) put_in_queue(i);
    }
  }

  /// The fastest first. All others are left out.
  std::vector<const SearchCandidate*> take() {
    db::Progress progress("search: simulations", static_cast<double>(top_));
    while (!queue_.empty() && taken_.size() < top_) {
      const Together together = take_next();
      for (const std::size_t i : together.candidates) queue_.erase({candidates_[i].least_s, i});
      in_parallel(together.candidates.size(), [&](std::size_t i) {
        look_closer(searched_, candidates_[together.candidates[i]], together.next_s);
      });
      for (const std::size_t i : together.candidates) {
        if (candidates_[i].out.empty()) put_in_queue(i);
      }
      progress.at(static_cast<double>(taken_.size()));
    }
    for (const auto& [place, i] : queue_) {
      SearchCandidate& one = candidates_[i];
      one.out = one.known <= Known::pieces    ? kByPieces
                : one.known == Known::program ? kByProgram
                                              : kSlower;
    }
    return taken_;
  }

 private:
  using Kind = std::pair<int, int>;
  Kind kind_of(const SearchCandidate& one) const {
    return {layout_of(one).tensor, layout_of(one).pipeline};
  }
  const moe::Layout& layout_of(const SearchCandidate& one) const {
    return searched_.space.setups[one.setup].layout;
  }

  /// By its least time. A known time is taken once no other can be so much faster that it matters.
  void put_in_queue(std::size_t i) {
    const SearchCandidate& one = candidates_[i];
    const bool may_be_slower = one.known == Known::time && !taken_.empty();
    queue_.emplace(may_be_slower ? one.least_s / slower_ : one.least_s, i);
  }
  void put_all_in_queue_again() {
    const auto before = std::exchange(queue_, {});
    for (const auto& [place, i] : before) put_in_queue(i);
  }

  /// Why a candidate is not among those that are asked for; "" where it may be.
  std::string refusal_of(const SearchCandidate& one) const {
    if (std::ranges::count(layouts_, layout_of(one)) > 0) return kSameLayout;
    const bool of_new_kinds = taken_.size() >= (top_ + 1) / 2;
    return of_new_kinds && kinds_.contains(kind_of(one)) ? kSameKind : "";
  }

  /// Candidates of several setups that are to be looked at, and what all others cannot beat.
  struct Together {
    std::vector<std::size_t> candidates;
    double next_s = std::numeric_limits<double>::infinity();
  };

  /// Takes those at the queue's head whose times are known, and tells the next others.
  Together take_next() {
    Together together;
    std::set<std::size_t> setups;
    for (auto at = queue_.begin(); at != queue_.end();) {
      SearchCandidate& one = candidates_[at->second];
      one.out = refusal_of(one);
      if (!one.out.empty()) {
        at = queue_.erase(at);
        continue;
      }
      if (one.known == Known::time && together.candidates.empty()) {
        taken_.push_back(&one);
        layouts_.push_back(layout_of(one));
        kinds_.insert(kind_of(one));
        queue_.erase(at);
        if (taken_.size() >= top_) break;
        if (taken_.size() == 1) put_all_in_queue_again();
        at = queue_.begin();
        continue;
      }
      if (one.known == Known::time || together.candidates.size() == kAtOnce ||
          !setups.insert(one.setup).second) {
        together.next_s = at->first;
        break;
      }
      together.candidates.push_back(at->second);
      ++at;
    }
    return together;
  }

  SearchedSetups& searched_;
  std::vector<SearchCandidate>& candidates_;
  std::size_t top_;
  double slower_;
  std::set<std::pair<double, std::size_t>> queue_;
  std::vector<const SearchCandidate*> taken_;
  std::vector<moe::Layout> layouts_;
  std::set<Kind> kinds_;
};

/// "; a rank has 80.0 GiB, and ep=64,pp=4 in 1 micro-batch needs the least, at least 93.1 GiB": where
/// that is known of all candidates.
std::string least_needed(const SearchedSetups& searched,
                         const std::vector<SearchCandidate>& candidates) {
  const auto least = std::ranges::min_element(candidates, {}, &SearchCandidate::needed_bytes);
  if (least == candidates.end() || least->needed_bytes == 0) return "";
  const TrainingSetup& setup = searched.space.setups[least->setup];
  return fmt::format("; a rank has {}, and {} in {} needs the least, at least {}",
                     db::format_cell("memory_bytes", searched.memory_bytes()),
                     moe::short_text(setup.layout),
                     db::counted(setup.micro_batches, "micro-batch", "micro-batches"),
                     db::format_cell("needed_bytes", least->needed_bytes));
}

[[noreturn]] void refuse_nothing_left(const std::string& model, int ranks,
                                      const SearchResult& result, const std::string& needed) {
  std::vector<std::string> reasons;
  for (const Reasons* const some : {&result.refused, &result.pruned}) {
    for (const auto& [reason, count] : *some) {
      reasons.push_back(fmt::format("{} ({})", reason, count));
    }
  }
  throw moe::Refusal(fmt::format("search: model {} on {} ranks", model, ranks),
                     reasons.empty()
                         ? "no layout is within --layouts"
                         : fmt::format("no setup is left: {}{}", fmt::join(reasons, "; "), needed),
                     "");
}

}  // namespace

SearchResult search_setups(const ScenarioOptions& scenario, const moe::Model& model,
                           const MeasuredCosts& costs, int ranks, const SearchOptions& options) {
  const LayoutRange layouts =
      options.layouts.value_or(usual_layouts(costs.costed.cluster.ranks_per_node));
  SearchedSetups searched{scenario, model, costs,
                          setups_of(model, ranks, layouts, options.micro_batches),
                          options.most_whole_ops};
  searched.scenario.ranks = ranks;
  searched.known.resize(searched.space.setups.size());
  if (options.memory_bytes > 0) {
    searched.costs.costed.cluster.memory_bytes = options.memory_bytes;
  }
  std::vector<SearchCandidate> candidates = bounded_candidates(searched, options.orders);
  const std::vector<const SearchCandidate*> taken = BestFirst(searched, candidates, options).take();

  SearchResult result;
  result.layouts = searched.space.layouts;
  result.setups = searched.space.setups.size();
  result.refused = searched.space.refused;
  result.candidates = candidates.size();
  for (const SearchCandidate& one : candidates) {
    if (!one.out.empty()) ++result.pruned[one.out];
    if (one.known == Known::time) ++result.simulated;
  }
  if (taken.empty())
    refuse_nothing_left(model.name, ranks, result, least_needed(searched, candidates));
  PlannedSetups planned = plan_found(searched, options.planners, taken);
  result.found = std::move(planned.found);
  result.remarks = std::move(planned.remarks);
  return result;
}

}  // namespace tuner
