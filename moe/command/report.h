#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "moe/command/arguments.h"
#include "moe/command/step_figures.h"
#include "moe/model/model.h"
#include "moe/train/trainer.h"

namespace moe {

/// The output of moe-train on rank 0: rows as they come, and a summary of each schedule at the end.
/// `--format json` prints the summaries alone, a line each.
class TrainReport {
 public:
  /// `schedules`: the names of those that take turns, or of the one that there is.
  /// `only_evaluates`: there is no iteration, and at most one held-out loss.
  TrainReport(const TrainArguments& arguments, const Model& model, const StepScale& scale,
              std::vector<std::string> schedules, bool only_evaluates = false);

  /// An iteration of schedule number `schedule`, with its number among those of this schedule.
  void observe(const StepReport& step, std::size_t schedule = 0);
  void observe(const PlanningTime& time) { planning_ = time; }
  void observe(const BalancedTurns& turns) { balanced_ = turns; }
  /// The held-out loss of parameters that are only evaluated, and their iteration.
  void evaluated(int iteration, double heldout_loss);
  /// What the model wrote after the prompt, and what stands between the two.
  void sampled(const std::string& prompt, const std::string& between, const std::string& text);
  /// Prints the summaries and the sample; `run_ids` are the stored runs, by schedule, or empty.
  void finish(const std::vector<std::int64_t>& run_ids);

 private:
  /// What the iterations of one schedule say together.
  struct Summary {
    std::string name;
    std::int64_t planned_peak_bytes =
        0;  ///< the largest of any rank and iteration, as the next two
    std::int64_t planned_host_peak_bytes = 0;
    std::int64_t touched_peak_bytes = 0;
    std::vector<double> durations{}, warmup_durations{};  ///< the latter of the first iterations
    StepReport last{};

    double median_s() const;
  };

  /// CSV has every figure of a step, a table those that fit its width.
  bool has_all_columns() const { return format_ == db::Format::csv; }
  bool take_turns() const { return summaries_.size() > 1; }
  std::vector<db::Cell> row(const StepReport& step, std::size_t schedule) const;
  void print_summary(const Summary& summary, std::optional<std::int64_t> run_id) const;
  void print_sample() const;
  std::string json_summary(const Summary& summary, std::optional<std::int64_t> run_id) const;

  db::Format format_;
  std::string database_;
  int log_every_;
  StepScale scale_;
  bool clips_;
  bool weighs_z_loss_;
  bool only_evaluates_;
  std::optional<std::string> prompt_, sample_;
  std::string between_;
  std::vector<Summary> summaries_;  ///< by schedule
  std::optional<db::RowWriter> writer_;
  PlanningTime planning_;
  std::optional<BalancedTurns> balanced_;
};

}  // namespace moe
