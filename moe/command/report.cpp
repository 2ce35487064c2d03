#include "moe/command/report.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "db/console/statistics.h"
#include "moe/outcome.h"

namespace moe {

TrainReport::TrainReport(const TrainArguments& arguments, const Model& model)
    : format_(*db::parse_format(arguments.output.format)),
      database_(arguments.database),
      log_every_(arguments.log_every),
      tokens_(model.global_batch * model.sequence_length),
      clips_(model.clip_norm.has_value()),
      weighs_z_loss_(model.z_loss_weight > 0) {
  if (format_ == db::Format::json) return;
  std::vector<std::string> columns{"iteration",   "loss",         "heldout_loss", "auxiliary_loss",
                                   "iteration_s", "tokens_per_s", "dropped",      "learning_rate"};
  if (clips_) columns.emplace_back("gradient_norm");
  if (weighs_z_loss_) columns.emplace_back("z_loss");
  writer_.emplace(stdout, arguments.output.style(stdout), std::move(columns));
}

std::vector<db::Cell> TrainReport::row(const StepReport& step) const {
  std::vector<db::Cell> cells{std::int64_t{step.iteration},
                              step.loss,
                              step.heldout_loss ? db::Cell(*step.heldout_loss) : db::Cell(),
                              step.auxiliary_loss,
                              step.duration_s,
                              static_cast<double>(tokens_) / step.duration_s,
                              step.dropped,
                              step.learning_rate};
  if (clips_) cells.emplace_back(step.gradient_norm.value_or(0));
  if (weighs_z_loss_) cells.emplace_back(step.z_loss);
  return cells;
}

void TrainReport::observe(const StepReport& step) {
  const bool is_first = last_.iteration == 0;
  last_ = step;
  last_.timeline = {};
  const auto raise = [](std::int64_t& peak, const std::vector<std::int64_t>& by_rank) {
    for (const std::int64_t bytes : by_rank) peak = std::max(peak, bytes);
  };
  raise(planned_peak_bytes_, step.planned_peak_bytes);
  raise(planned_host_peak_bytes_, step.planned_host_peak_bytes);
  raise(touched_peak_bytes_, step.touched_peak_bytes);
  (step.warms_up ? warmup_durations_ : durations_).push_back(step.duration_s);
  const bool every_row = format_ == db::Format::csv;
  if (writer_ && (every_row || is_first || step.iteration % log_every_ == 0 || step.heldout_loss)) {
    writer_->row(row(step));
    writer_->flush();
  }
}

void TrainReport::finish(std::optional<std::int64_t> run_id) {
  const std::vector<double>& durations = durations_.empty() ? warmup_durations_ : durations_;
  const double median_s = durations.empty() ? 0 : db::median(durations);
  if (!writer_) {
    std::cout << json_summary(run_id, median_s) << '\n';
    return;
  }
  writer_->finish();
  if (format_ == db::Format::table) print_summary(run_id, median_s);
}

void TrainReport::print_summary(std::optional<std::int64_t> run_id, double median_s) const {
  spdlog::info("{} iterations, median {}{}", last_.iteration,
               db::format_cell("iteration_s", median_s),
               run_id ? fmt::format(", run {} in {}", *run_id, database_) : "");
  if (planning_.plans > 0) {
    spdlog::info("{} plans in {}, {} of it between iterations", planning_.plans,
                 db::format_cell("total_s", planning_.total_s),
                 db::format_cell("exposed_s", planning_.exposed_s));
  }
}

std::string TrainReport::json_summary(std::optional<std::int64_t> run_id, double median_s) const {
  nlohmann::json json{{"status", outcome_name(OutcomeStatus::done)},
                      {"steps", last_.iteration},
                      {"iteration_s", median_s},
                      {"loss", last_.loss},
                      {"auxiliary_loss", last_.auxiliary_loss},
                      {"planned_peak_bytes", planned_peak_bytes_},
                      {"measured_peak_bytes", touched_peak_bytes_}};
  if (planned_host_peak_bytes_ > 0) json["planned_host_peak_bytes"] = planned_host_peak_bytes_;
  if (weighs_z_loss_) json["z_loss"] = last_.z_loss;
  if (last_.gradient_norm) json["gradient_norm"] = *last_.gradient_norm;
  if (last_.heldout_loss) json["heldout_loss"] = *last_.heldout_loss;
  if (planning_.plans > 0) {
    json["plans"] = planning_.plans;
    json["planning_s"] = planning_.total_s;
    json["exposed_planning_s"] = planning_.exposed_s;
  }
  if (run_id) json["run"] = *run_id;
  return json.dump();
}

}  // namespace moe
