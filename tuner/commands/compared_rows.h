#pragma once

#include <exception>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"
#include "tuner/study/replay.h"

namespace tuner {

/// The columns of Compared::figures.
inline constexpr const char* kComparedFigures[]{"forward_chunks",
                                                "backward_chunks",
                                                "paper_s",
                                                "predicted_s",
                                                "predicted_deviation_s",
                                                "lower_bound_s",
                                                "predicted_speedup",
                                                "exposed_s",
                                                "max_over_mean",
                                                "force_balanced_share",
                                                "predicted_peak_bytes",
                                                "fits_memory",
                                                "planning_s"};

/// The columns of Compared::of_replicas.
inline constexpr const char* kReplicaFigures[]{"away_share", "expert_bytes", "rule_s",
                                               "exposed_experts_s"};

/// A row of a comparison: a planner's schedule and its prediction, or the reason for none.
struct Compared {
  std::vector<std::string> settings;  ///< the keys that this combination of values sets
  std::string planner;
  std::string parameters_json = "{}";
  std::string given;                    ///< the name of the --given file that it goes on from
  std::vector<db::Cell> figures;        ///< one for each of kComparedFigures; none for a refusal
  std::vector<db::Cell> of_replicas{};  ///< one for each of kReplicaFigures; none without replicas
  std::string changes;                  ///< the decisions that change results
  std::string refusal;
};

/// The rows of one combination of settings, and the first error that made a row a refusal.
struct ComparedRows {
  std::vector<Compared> rows;
  std::exception_ptr first_refusal{};
  FitUse fits_used;  ///< of all predictions
};

/// Has a row for each request and given schedule or, with `all_candidates`, for each candidate. A
/// refusal of a planner is a row. `planning_s` is the time that the planner took, for all of its
/// candidates together. What another row has planned or simulated is not done again.
ComparedRows compare_planners(const Situation& situation,
                              const std::vector<PlannerRequest>& requests,
                              const std::vector<Given>& given, bool all_candidates);
/// The same of the planners' own choices where they plan again in some of several iterations
/// (study/replay.h): figures are those of the median iteration after the history, and `planning_s`
/// is the time of a plan.
ComparedRows replay_planners(const Situation& situation,
                             const std::vector<PlannerRequest>& requests,
                             const std::vector<Given>& given, const ReplayTurns& turns);

}  // namespace tuner
