#include "moe/command/report.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/console/shown_text.h"
#include "db/console/statistics.h"
#include "moe/outcome.h"

namespace moe {

double TrainReport::Summary::median_s() const {
  const std::vector<double>& counted = durations.empty() ? warmup_durations : durations;
  return counted.empty() ? 0 : db::median(counted);
}

TrainReport::TrainReport(const TrainArguments& arguments, const Model& model,
                         const StepScale& scale, std::vector<std::string> schedules,
                         bool only_evaluates)
    : format_(*db::parse_format(arguments.output.format)),
      database_(arguments.database),
      log_every_(arguments.log_every),
      scale_(scale),
      clips_(model.clip_norm.has_value()),
      weighs_z_loss_(model.z_loss_weight > 0),
      only_evaluates_(only_evaluates) {
  for (std::string& name : schedules) summaries_.push_back({.name = std::move(name)});
  if (format_ == db::Format::json) return;
  std::vector<std::string> columns{"iteration",   "loss",         "heldout_loss", "auxiliary_loss",
                                   "iteration_s", "tokens_per_s", "dropped",      "learning_rate"};
  if (take_turns()) columns.insert(columns.begin() + 1, "schedule");
  if (clips_) columns.emplace_back("gradient_norm");
  if (weighs_z_loss_) columns.emplace_back("z_loss");
  columns.emplace_back("flops_per_s");
  if (scale_.peak_flops_per_s) columns.emplace_back("peak_share");
  if (has_all_columns()) {
    columns.insert(columns.end(), {"flops", "peak_bytes", "exposed_s", "max_over_mean",
                                   "exposed_waiting_s", "exposed_bubble_s"});
  }
  if (only_evaluates_) columns = {"iteration", "heldout_loss"};
  writer_.emplace(stdout, arguments.output.style(stdout), std::move(columns));
}

std::vector<db::Cell> TrainReport::row(const StepReport& step, std::size_t schedule) const {
  std::vector<db::Cell> cells{std::int64_t{step.iteration},
                              step.loss,
                              step.heldout_loss ? db::Cell(*step.heldout_loss) : db::Cell(),
                              step.auxiliary_loss,
                              step.duration_s,
                              tokens_per_s(scale_, step),
                              step.dropped,
                              step.learning_rate};
  if (take_turns()) cells.insert(cells.begin() + 1, summaries_[schedule].name);
  if (clips_) cells.push_back(step.gradient_norm ? db::Cell(*step.gradient_norm) : db::Cell());
  if (weighs_z_loss_) cells.emplace_back(step.z_loss);
  cells.emplace_back(flops_per_s(step));
  if (const auto share = peak_share(scale_, step)) cells.emplace_back(*share);
  if (has_all_columns()) {
    const auto cell = [](const std::optional<double>& value) {
      return value ? db::Cell(*value) : db::Cell();
    };
    const auto exposed = [&](double ExposedCommunication::*part) {
      return step.exposed ? db::Cell((*step.exposed).*part) : db::Cell();
    };
    cells.insert(cells.end(), {db::Cell(step.flops), db::Cell(peak_bytes(step)),
                               exposed(&ExposedCommunication::all_s), cell(step.max_over_mean),
                               exposed(&ExposedCommunication::waiting_s),
                               exposed(&ExposedCommunication::bubble_s)});
  }
  return cells;
}

void TrainReport::observe(const StepReport& step, std::size_t schedule) {
  Summary& summary = summaries_.at(schedule);
  const bool is_first = summary.last.iteration == 0;
  summary.last = step;
  summary.last.timeline = {};
  const auto raise = [](std::int64_t& peak, const std::vector<std::int64_t>& by_rank) {
    for (const std::int64_t bytes : by_rank) peak = std::max(peak, bytes);
  };
  raise(summary.planned_peak_bytes, step.planned_peak_bytes);
  raise(summary.planned_host_peak_bytes, step.planned_host_peak_bytes);
  raise(summary.touched_peak_bytes, step.touched_peak_bytes);
  (step.warms_up ? summary.warmup_durations : summary.durations).push_back(step.duration_s);
  const bool every_row = format_ == db::Format::csv;
  if (writer_ && (every_row || is_first || step.iteration % log_every_ == 0 || step.heldout_loss)) {
    writer_->row(row(step, schedule));
    writer_->flush();
  }
}

void TrainReport::evaluated(int iteration, double heldout_loss) {
  summaries_.front().last.iteration = iteration;
  summaries_.front().last.heldout_loss = heldout_loss;
  if (writer_) writer_->row({std::int64_t{iteration}, heldout_loss});
}

void TrainReport::sampled(const std::string& prompt, const std::string& between,
                          const std::string& text) {
  prompt_ = db::escaped(prompt, true);
  between_ = between;
  sample_ = db::escaped(text, true);
}

void TrainReport::print_sample() const {
  const std::string text = *prompt_ + between_ + *sample_;
  if (format_ == db::Format::table) std::cout << '\n' << text << std::endl;
  if (format_ == db::Format::csv) spdlog::info(text);
}

void TrainReport::finish(const std::vector<std::int64_t>& run_ids) {
  if (writer_) writer_->finish();
  for (std::size_t i = 0; i < summaries_.size(); ++i) {
    const auto run_id = run_ids.empty() ? std::nullopt : std::optional(run_ids.at(i));
    if (format_ == db::Format::json) {
      std::cout << json_summary(summaries_[i], run_id) << '\n';
    } else if (format_ == db::Format::table && !only_evaluates_) {
      print_summary(summaries_[i], run_id);
    }
  }
  if (balanced_ && format_ == db::Format::table) {
    spdlog::info("{:.1f}% of the throughput of even routing: {} against {}",
                 100 * balanced_->share(), db::format_cell("usual_s", balanced_->usual_s),
                 db::format_cell("balanced_s", balanced_->balanced_s));
  }
  if (sample_) print_sample();
  if (planning_.plans > 0 && format_ == db::Format::table) {
    spdlog::info("{} plans in {}, {} of it between iterations", planning_.plans,
                 db::format_cell("total_s", planning_.total_s),
                 db::format_cell("exposed_s", planning_.exposed_s));
  }
}

void TrainReport::print_summary(const Summary& summary, std::optional<std::int64_t> run_id) const {
  const double first_s = summaries_.front().median_s();
  std::string against;
  if (&summary != &summaries_.front() && summary.median_s() > 0) {
    against = fmt::format(", {:.3f} times as fast as {}", first_s / summary.median_s(),
                          summaries_.front().name);
  }
  spdlog::info("{}{} iterations, median {}{}{}", take_turns() ? summary.name + ": " : "",
               summary.last.iteration, db::format_cell("iteration_s", summary.median_s()), against,
               run_id ? fmt::format(", run {} in {}", *run_id, database_) : "");
}

std::string TrainReport::json_summary(const Summary& summary,
                                      std::optional<std::int64_t> run_id) const {
  const StepReport& last = summary.last;
  nlohmann::json json{{"status", outcome_name(OutcomeStatus::done)}, {"steps", last.iteration}};
  if (sample_) json["prompt"] = *prompt_;
  if (sample_) json["sample"] = *sample_;
  if (last.heldout_loss) json["heldout_loss"] = *last.heldout_loss;
  if (only_evaluates_) return json.dump();
  json.update({{"iteration_s", summary.median_s()},
               {"loss", last.loss},
               {"auxiliary_loss", last.auxiliary_loss},
               {"flops", last.flops},
               {"planned_peak_bytes", summary.planned_peak_bytes},
               {"measured_peak_bytes", summary.touched_peak_bytes}});
  if (take_turns()) json["schedule"] = summary.name;
  if (summary.planned_host_peak_bytes > 0) {
    json["planned_host_peak_bytes"] = summary.planned_host_peak_bytes;
  }
  if (weighs_z_loss_) json["z_loss"] = last.z_loss;
  if (last.skipped > 0) json["skipped"] = last.skipped;
  if (last.gradient_norm) json["gradient_norm"] = *last.gradient_norm;
  if (const double median_s = summary.median_s(); median_s > 0) {
    json["tokens_per_s"] = static_cast<double>(scale_.tokens) / median_s;
    json["flops_per_s"] = last.flops / median_s;
    if (scale_.peak_flops_per_s) {
      json["peak_share"] = last.flops / median_s / *scale_.peak_flops_per_s;
    }
  }
  json["dropped"] = last.dropped;
  if (last.exposed) {
    json["exposed_s"] = last.exposed->all_s;
    json["exposed_waiting_s"] = last.exposed->waiting_s;
    json["exposed_bubble_s"] = last.exposed->bubble_s;
  }
  if (last.max_over_mean) json["max_over_mean"] = *last.max_over_mean;
  if (balanced_) {
    json["balanced_share"] = balanced_->share();
    json["balanced_iteration_s"] = balanced_->balanced_s;
  }
  if (planning_.plans > 0) {
    json["plans"] = planning_.plans;
    json["planning_s"] = planning_.total_s;
    json["exposed_planning_s"] = planning_.exposed_s;
  }
  if (run_id) json["run"] = *run_id;
  return json.dump();
}

}  // namespace moe
