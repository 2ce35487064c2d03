#include "tuner/planners/mpmoe/mpmoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "db/console/format_rows.h"
#include "moe/model/iteration.h"
#include "tuner/planners/mpmoe/granularity_search.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/mpmoe/performance_model.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

using mpmoe::Strategy;

/// A configuration (n, S) with its time.
struct Rated {
  moe::Schedule schedule;
  double seconds = 0;  ///< time of an iteration: measured, simulated or by the performance model
};

/// Configurations that have been rated.
class Configurations {
 public:
  Configurations(const Situation& situation, std::string planner, MeasureSchedule rate)
      : situation_(situation), planner_(std::move(planner)), rate_(std::move(rate)) {}

  /// Infinite where buffers cannot be shared so, or where the configuration does not fit.
  double seconds(int n, const Strategy& strategy) {
    double seconds = std::numeric_limits<double>::infinity();
    auto schedule = mpmoe::reuse_schedule(situation_.program, planner_, n, strategy);
    if (!schedule) return seconds;
    if (fits_memory(situation_, *schedule)) seconds = rate_(*schedule);
    all_.push_back({std::move(*schedule), seconds});
    return seconds;
  }
  /// The fastest; where none fits, the one with the least planned peak; where buffers cannot be
  /// shared at all, PMoE's plan.
  moe::Schedule best(const PlannerOptions& options) const {
    if (all_.empty()) {
      moe::Schedule without_reuse = plan_pmoe(situation_, options);
      without_reuse.planner = planner_;
      return without_reuse;
    }
    const Rated& fastest = *std::ranges::min_element(all_, {}, &Rated::seconds);
    if (fastest.seconds < std::numeric_limits<double>::infinity()) return fastest.schedule;
    return std::ranges::min_element(
               all_, {},
               [&](const Rated& one) { return planned_peak_bytes(situation_, one.schedule); })
        ->schedule;
  }

 private:
  const Situation& situation_;
  std::string planner_;
  MeasureSchedule rate_;
  std::vector<Rated> all_;
};

/// A forward pass, its time summed over ranks. [MPMoE, its authors' code]
double forward_of_ranks_s(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program forward = moe::forward_only(moe::apply(situation.program, schedule));
  const moe::Timeline timeline =
      simulate(forward, situation.groups, situation.routing, situation.costs, situation.cluster);
  double sum_s = 0;
  for (int rank = 0; rank < moe::rank_count(timeline); ++rank) {
    double end_s = 0;
    for (const moe::OpSpan& span : moe::spans_of(timeline, rank)) {
      end_s = std::max(end_s, span.start_s + span.duration_s);
    }
    sum_s += end_s;
  }
  return sum_s;
}

/// The partitions that the authors' code finds for a strategy.
int released_partitions(const Situation& situation, const Strategy& strategy, int most) {
  return mpmoe::from_the_better_end(std::min(2, most), most, [&](int n) {
    const auto schedule = mpmoe::reuse_schedule(situation.program, "mpmoe_pb", n, strategy);
    return schedule ? forward_of_ranks_s(situation, *schedule)
                    : std::numeric_limits<double>::infinity();
  });
}

std::vector<Candidate> all_candidates(const Situation& situation, const PlannerOptions& options,
                                      moe::Schedule own) {
  std::vector<Candidate> candidates;
  for (const Strategy& strategy : mpmoe::kStrategies) {
    for (const int n : {2, 4, 8}) {
      if (n > most_chunks(options)) continue;
      auto schedule = mpmoe::reuse_schedule(situation.program, own.planner, n, strategy);
      if (schedule) candidates.push_back({std::move(*schedule)});
    }
  }
  const bool there = std::ranges::any_of(
      candidates, [&](const Candidate& candidate) { return candidate.schedule == own; });
  if (!there) candidates.push_back({std::move(own)});
  return candidates;
}

/// What `plan` makes, which plan_with knows by the same key.
template <class Plan>
moe::Schedule own_choice(const char* planner, const Plan& plan, const Situation& situation,
                         const PlannerOptions& options) {
  const auto one = [&] { return std::vector<Candidate>{{plan(situation, options)}}; };
  return remembered(situation, memory_key(planner, options, kChoice), one).front().schedule;
}

}  // namespace

moe::Schedule plan_pmoe(const Situation& situation, const PlannerOptions& options) {
  const auto schedule_of = [&](int n) {
    return pipeline_schedule(situation.program, "pmoe", {n, n});
  };
  if (const auto degree = asked_for(options, kDegree)) {
    return schedule_of(static_cast<int>(*degree));
  }
  return schedule_of(mpmoe::until_it_rises(
      1, most_chunks(options), [&](int n) { return simulated_s(situation, schedule_of(n)); }));
}

moe::Schedule plan_mpmoe_pb(const Situation& situation, const PlannerOptions& options) {
  Configurations tried(situation, "mpmoe_pb", [&](const moe::Schedule& schedule) {
    return situation.measure ? situation.measure(schedule) : simulated_s(situation, schedule);
  });
  const int most = most_chunks(options);
  for (const Strategy& strategy : mpmoe::kStrategies) {
    if (whole_value_of(options, kReleasedSearch, 0) == 1) {
      tried.seconds(released_partitions(situation, strategy, most), strategy);
    } else {
      mpmoe::until_it_rises(1, most, [&](int n) { return tried.seconds(n, strategy); });
    }
  }
  return tried.best(options);
}

moe::Schedule plan_mpmoe_pm(const Situation& situation, const PlannerOptions& options) {
  Configurations tried(situation, "mpmoe_pm", [&](const moe::Schedule& schedule) {
    return mpmoe::modelled_iteration_s(situation, schedule);
  });
  for (const Strategy& strategy : mpmoe::kStrategies) {
    for (int n = 1; n <= most_chunks(options); ++n) tried.seconds(n, strategy);
  }
  return tried.best(options);
}

std::string mpmoe_parameters(const moe::Schedule& schedule) {
  return join_parameters(degrees_json(schedule),
                         fmt::format(R"({{"strategy": "{}"}})", mpmoe::strategy_of(schedule)));
}

std::vector<Candidate> mpmoe_pb_candidates(const Situation& situation,
                                           const PlannerOptions& options) {
  moe::Schedule own = own_choice("mpmoe_pb", plan_mpmoe_pb, situation, options);
  if (!situation.measure) return all_candidates(situation, options, std::move(own));
  return {{std::move(own)}};
}

std::vector<Candidate> mpmoe_pm_candidates(const Situation& situation,
                                           const PlannerOptions& options) {
  return all_candidates(situation, options,
                        own_choice("mpmoe_pm", plan_mpmoe_pm, situation, options));
}

std::string mpmoe_remark(const Situation& situation, const PlannerOptions&,
                         const moe::Schedule& schedule) {
  if (mpmoe::strategy_of(schedule).empty()) {
    return fmt::format(
        "{}: no layer can share buffers among chunks (no experts, ranks that share them, or a hook "
        "on all received rows): planned as pmoe",
        schedule.planner);
  }
  const PeakBytes peaks = planned_peaks(situation, schedule);
  const auto peak = [&](moe::Pool pool) {
    return db::format_cell("bytes", peaks[static_cast<std::size_t>(pool)]);
  };
  const char* by = schedule.planner == "mpmoe_pm" ? "its performance model"
                   : situation.measure            ? "micro-profiles"
                                                  : "simulation: nothing was run";
  return fmt::format("{}: {} in {} partitions, {} of arena and {} offloaded; chosen by {}",
                     schedule.planner, mpmoe::strategy_of(schedule), degrees_of(schedule).forward,
                     peak(moe::Pool::device), peak(moe::Pool::host), by);
}

}  // namespace tuner
