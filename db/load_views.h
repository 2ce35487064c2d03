#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// Reads the views whose figures all programs show alike, because they are worked out in one place.
/// Throws Error.
namespace db {

/// A row of run_view, without the columns that only moe-db lists.
struct RunOverview {
  std::int64_t id = 0;
  std::string kind;
  std::string name;
  std::string status;
  std::string error;
  std::string device;
  int ranks = 1;
  std::string layout;   ///< empty where none is trained or it is not known
  std::string planner;  ///< empty where the run had no schedule
  std::string network;  ///< between its nodes; empty where it is not known
  std::optional<std::int64_t> schedule_id;
  double started_at = 0;
  double duration_s = 0;            ///< the time until now for a running one
  std::optional<double> last_loss;  ///< the loss of the last iteration
};

/// Newest first.
std::vector<RunOverview> load_run_overviews(const Connection&);

/// A row of balance_view. Figures are none where nothing was routed or where they are not known.
struct BalanceOverview {
  int iteration = 0;
  int layer = 0;
  int experts = 1;
  int unused_experts = 0;
  std::int64_t tokens = 0;
  std::int64_t max_tokens = 0;
  std::optional<std::int64_t> dropped_tokens;
  std::optional<double> max_over_mean;
  double standard_deviation = 0;
  std::optional<double> rank_max_over_mean;
  std::optional<double> locality;
  /// Of the experts' tokens before those over capacity were dropped.
  std::optional<double> asked_max_over_mean;
  /// Of the tokens that ranks computed, where experts were replicated or moved.
  std::optional<double> placed_rank_max_over_mean;
};

/// The rows of one run, by iteration and layer.
std::vector<BalanceOverview> load_balances(const Connection&, std::int64_t run_id);

/// The figures of trial_view that compare a trial with others of its study; none where one of the
/// two was not measured.
struct TrialFigures {
  std::optional<double> speedup;  ///< measured times, over those of the planner `speedup_against`
  /// The 95% interval of the speed-up. None until the study has ended, and of one repeat.
  std::optional<double> least_speedup, most_speedup;
  /// sequential or, where it is infeasible or failed, the fastest; empty where there is none.
  std::string speedup_against;
  std::string tied_with;  ///< finished trials that the repeats do not tell from this one
  /// Without what is common to all first predictions of the study. None until the study has ended,
  /// and for trials that a refinement planned.
  std::optional<double> own_prediction_error;
  std::string
      changes_results;  ///< decisions that change losses and gradients, empty where none does
  std::optional<double> last_loss, sequential_last_loss;
  std::optional<double> loss_difference;             ///< the difference of the two last losses
  int repeats = 0;                                   ///< measured ones
  std::optional<double> min_repeat_s, max_repeat_s;  ///< the fastest and the slowest of them
  std::optional<double> min_iteration_s;             ///< the shortest of all its iterations
};

/// A setup that a search found, and the rest of its row of setup_view.
struct SetupOverview {
  PredictedSetup setup;
  std::string model;      ///< the name
  std::string cluster;    ///< the name; empty where it is not known
  bool on_front = false;  ///< no other of its search, ranks and settings is as fast and as lean
};

/// The newest search first; those of one search by settings, ranks and place.
std::vector<SetupOverview> load_setup_overviews(const Connection&);

/// On what a run ran.
struct RunPlace {
  std::string kind;  ///< of the run
  std::int64_t machine_id = 0;
  std::string machine;  ///< its name
  std::string network;  ///< between its nodes; empty where it is not known
  int nodes = 0;        ///< 0 where it is not known
};

/// By run, of those that measured or fitted something.
std::map<std::int64_t, RunPlace> load_run_places(const Connection&);

/// The figures of the trials of all studies, by trial.
std::map<std::int64_t, TrialFigures> load_trial_figures(const Connection&);

}  // namespace db
