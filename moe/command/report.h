#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "moe/command/arguments.h"
#include "moe/model/model.h"
#include "moe/train/trainer.h"

namespace moe {

/// The output of moe-train on rank 0: rows as they come, and a summary at the end. `--format json`
/// prints the summary alone.
class TrainReport {
 public:
  TrainReport(const TrainArguments& arguments, const Model& model);

  void observe(const StepReport& step);
  void observe(const PlanningTime& time) { planning_ = time; }
  /// Prints the summary; `run_id` is the stored run's.
  void finish(std::optional<std::int64_t> run_id);

 private:
  std::vector<db::Cell> row(const StepReport& step) const;
  void print_summary(std::optional<std::int64_t> run_id, double median_s) const;
  std::string json_summary(std::optional<std::int64_t> run_id, double median_s) const;

  db::Format format_;
  std::string database_;
  int log_every_;
  std::int64_t tokens_;  ///< the number of tokens of the global batch
  bool clips_;
  bool weighs_z_loss_;
  std::int64_t planned_peak_bytes_ = 0;  ///< the largest of any rank and iteration, as the next two
  std::int64_t planned_host_peak_bytes_ = 0;
  std::int64_t touched_peak_bytes_ = 0;
  std::optional<db::RowWriter> writer_;
  std::vector<double> durations_, warmup_durations_;  ///< the latter of the first iterations
  PlanningTime planning_;
  StepReport last_;
};

}  // namespace moe
