#include "tuner/planners/mpmoe/mpmoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "db/console/format_rows.h"
#include "moe/model/iteration.h"
#include "tuner/planners/mpmoe/granularity_search.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/mpmoe/performance_model.h"
#include "tuner/planners/mpmoe/pmoe.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

using mpmoe::Rated;
using mpmoe::Strategy;

/// Configurations (n, S) that have been rated.
class Configurations {
 public:
  Configurations(const Situation& situation, std::string planner, MeasureSchedule rate)
      : situation_(situation), planner_(std::move(planner)), rate_(std::move(rate)) {}

  /// Infinite where buffers cannot be shared so, or where the configuration does not fit.
  double seconds(int n, const Strategy& strategy) {
    const auto [known, added] =
        seconds_.try_emplace({n, strategy.name}, std::numeric_limits<double>::infinity());
    if (!added) return known->second;
    auto schedule = mpmoe::reuse_schedule(situation_.program, planner_, n, strategy);
    if (!schedule) return known->second;
    if (fits_memory(situation_, moe::apply(situation_.program, *schedule))) {
      known->second = rate_(*schedule);
    }
    all_.push_back({std::move(*schedule), known->second});
    return known->second;
  }
  void rate_all(int most_chunks) {
    for (const Strategy& strategy : mpmoe::kStrategies) {
      for (int n = 1; n <= most_chunks; ++n) seconds(n, strategy);
    }
  }
  const std::vector<Rated>& all() const { return all_; }
  const moe::Schedule& best() const {
    const Rated& fastest = *std::ranges::min_element(all_, {}, &Rated::seconds);
    const bool any = fastest.seconds < std::numeric_limits<double>::infinity();
    return (any ? fastest : mpmoe::of_least_memory(situation_, all_)).schedule;
  }

 private:
  const Situation& situation_;
  std::string planner_;
  MeasureSchedule rate_;
  std::map<std::pair<int, std::string_view>, double> seconds_;
  std::vector<Rated> all_;
};

/// The tokens of a rank and micro-batch: MPMoE's B.
double tokens_of_rank(const moe::Program& program) {
  for (const moe::TensorId tokens : program.tokens) {
    if (tokens >= 0) {
      return static_cast<double>(program.tensors[tokens].rows);
    }
  }
  return 1;
}

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

moe::Schedule without_reuse(const Situation& situation, const PlannerOptions& options,
                            const char* name) {
  moe::Schedule schedule = plan_pmoe(situation, options);
  schedule.planner = name;
  return schedule;
}

Candidate reuse_candidate(moe::Schedule schedule) {
  std::string parameters = mpmoe_parameters(schedule);
  return {schedule.planner, std::move(parameters), std::move(schedule)};
}

std::vector<Candidate> all_candidates(const Situation& situation, const PlannerOptions& options,
                                      moe::Schedule own) {
  std::vector<Candidate> candidates;
  for (const Strategy& strategy : mpmoe::kStrategies) {
    for (const int n : {2, 4, 8}) {
      if (n > most_chunks(options)) continue;
      auto schedule = mpmoe::reuse_schedule(situation.program, own.planner, n, strategy);
      if (schedule) candidates.push_back(reuse_candidate(std::move(*schedule)));
    }
  }
  const bool there = std::ranges::any_of(
      candidates, [&](const Candidate& candidate) { return candidate.schedule == own; });
  if (!there) candidates.push_back(reuse_candidate(std::move(own)));
  return candidates;
}

}  // namespace

moe::Schedule plan_mpmoe_by_profiles(const Situation& situation, const PlannerOptions& options,
                                     const MeasureSchedule& measure) {
  Configurations tried(situation, "mpmoe_pb", measure);
  const double tokens = tokens_of_rank(situation.program);
  const bool released = whole_value_of(options, kReleasedSearch, 0) == 1;
  for (const Strategy& strategy : mpmoe::kStrategies) {
    if (released) {
      tried.seconds(released_partitions(situation, strategy, most_chunks(options)), strategy);
      continue;
    }
    mpmoe::GranularitySearch search(most_chunks(options));
    mpmoe::best_partitions(search, tokens, [&](int n) { return tried.seconds(n, strategy); });
  }
  if (tried.all().empty()) return without_reuse(situation, options, "mpmoe_pb");
  return tried.best();
}

moe::Schedule plan_mpmoe_pb(const Situation& situation, const PlannerOptions& options) {
  return plan_mpmoe_by_profiles(situation, options, [&](const moe::Schedule& schedule) {
    return measured_or_simulated_s(situation, schedule);
  });
}

moe::Schedule plan_mpmoe_pm(const Situation& situation, const PlannerOptions& options) {
  Configurations tried(situation, "mpmoe_pm", [&](const moe::Schedule& schedule) {
    return mpmoe::modelled_iteration_s(situation, schedule);
  });
  tried.rate_all(most_chunks(options));
  if (tried.all().empty()) return without_reuse(situation, options, "mpmoe_pm");
  return tried.best();
}

std::string mpmoe_parameters(const moe::Schedule& schedule) {
  return join_parameters(degrees_json(schedule),
                         fmt::format(R"({{"strategy": "{}"}})", mpmoe::strategy_of(schedule)));
}

double mpmoe_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  return mpmoe::modelled_iteration_s(situation, schedule);
}

std::vector<Candidate> mpmoe_pb_candidates(const Situation& situation,
                                           const PlannerOptions& options) {
  moe::Schedule own = remembered_schedule(situation, memory_key("mpmoe_pb", options, false),
                                          [&] { return plan_mpmoe_pb(situation, options); });
  if (!situation.measure) return all_candidates(situation, options, std::move(own));
  return {reuse_candidate(std::move(own))};
}

std::vector<Candidate> mpmoe_pm_candidates(const Situation& situation,
                                           const PlannerOptions& options) {
  return all_candidates(situation, options,
                        remembered_schedule(situation, memory_key("mpmoe_pm", options, false),
                                            [&] { return plan_mpmoe_pm(situation, options); }));
}

std::string mpmoe_remark(const Situation& situation, const PlannerOptions&,
                         const moe::Schedule& schedule) {
  if (mpmoe::strategy_of(schedule).empty()) {
    return fmt::format(
        "{}: no layer can share buffers among chunks (no experts, ranks that share them, or a hook "
        "on all received rows): planned as pmoe",
        schedule.planner);
  }
  const moe::Program program = moe::apply(situation.program, schedule);
  const auto peak = [&](moe::Pool pool) {
    return db::format_cell("bytes", planned_peak_bytes(situation, program, pool));
  };
  const char* by = schedule.planner == "mpmoe_pm" ? "its performance model"
                   : situation.measure            ? "micro-profiles"
                                                  : "simulation: nothing was run";
  return fmt::format("{}: {} in {} partitions, {} of arena and {} offloaded; chosen by {}",
                     schedule.planner, mpmoe::strategy_of(schedule), degrees_of(schedule).forward,
                     peak(moe::Pool::device), peak(moe::Pool::host), by);
}

}  // namespace tuner
