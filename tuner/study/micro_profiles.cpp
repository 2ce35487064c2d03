#include "tuner/study/micro_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "db/console/format_rows.h"
#include "db/load.h"
#include "db/number_range.h"
#include "db/store.h"
#include "moe/program/timeline.h"
#include "tuner/planners/planners.h"
#include "tuner/study/stored_trainings.h"

namespace tuner {
namespace {

constexpr const char* kMicroProfileOp = "micro_profile";
constexpr const char* kMicroProfilePlanner = "micro-profile";

/// The parameters of a schedule as its planner gives them; "{}" where no planner made it.
std::string parameters_of_schedule(const moe::Schedule& schedule) {
  const auto maker = std::ranges::find(planners(), schedule.planner, &Planner::name);
  return maker == planners().end() ? "{}" : parameters_of(*maker, {}, schedule);
}

/// The micro-profiles of a study with their parameters, oldest first.
std::vector<std::pair<db::Measurement, nlohmann::json>> micro_profiles_of(
    const db::Connection& connection, const std::string& study) {
  std::vector<std::pair<db::Measurement, nlohmann::json>> all;
  for (db::Measurement& row : db::load_measurements(connection, {.op = kMicroProfileOp})) {
    auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
    const auto is_id = [&](const char* key) {
      return parameters.contains(key) && parameters[key].is_number_integer();
    };
    if (!parameters.is_object() || !is_id("schedule") ||
        (parameters.contains("run") && !is_id("run"))) {
      db::refuse_value(connection.path(), "measurement", "parameters_json", row.parameters_json,
                       "those of a micro-profile, with the ids of its schedule and run",
                       fmt::format("id = {}", row.id));
    }
    if (parameters.contains("study") && parameters["study"] == study) {
      all.emplace_back(std::move(row), std::move(parameters));
    }
  }
  return all;
}

double seconds_measured(const db::Measurement& row) {
  return row.samples > 0 ? row.time_s : std::numeric_limits<double>::infinity();
}

}  // namespace

MicroProfiles::MicroProfiles(db::Connection& connection, const db::Study& study,
                             std::int64_t run_id, const StudyTrainings& trainings,
                             std::function<double(const moe::Schedule&)> predicted_s)
    : connection_(connection),
      study_(study),
      run_id_(run_id),
      trainings_(trainings),
      predicted_s_(std::move(predicted_s)) {
  const StudyOptions& options = trainings_.options;
  for (const auto& [row, parameters] : micro_profiles_of(connection_, study_.name)) {
    const bool is_too_short = row.samples > 0 && row.samples < options.micro_profile_steps;
    const bool is_tried_again = row.samples == 0 && options.retry_failed && row.run_id != run_id_;
    if (is_too_short || is_tried_again) continue;
    known_[parameters.at("schedule").get<std::int64_t>()] = seconds_measured(row);
  }
}

double MicroProfiles::seconds(const moe::Schedule& schedule) {
  const std::int64_t id = db::find_or_insert(connection_, moe::schedule_row(schedule));
  const auto known = known_.find(id);
  return known != known_.end() ? known->second : known_[id] = measure(schedule, id);
}

double MicroProfiles::measure(const moe::Schedule& schedule, std::int64_t schedule_id) {
  moe::Schedule marked = schedule;
  marked.planner = kMicroProfilePlanner;
  const StudyOptions& options = trainings_.options;
  const int steps = moe::kWarmupIterations + options.micro_profile_steps;
  const double predicted_s = predicted_s_(schedule);
  const JobResult result =
      train(connection_, trainings_,
            {{&marked, 1},
             steps,
             1,
             trial_time_limit_s(options, predicted_s),
             seconds_beside_iterations(connection_, study_) + steps * predicted_s})
          .results.front();
  if (is_no_verdict(result.status)) throw_failure("a micro-profile", result);

  db::Measurement row;
  row.run_id = run_id_;
  row.op = kMicroProfileOp;
  row.device = options.job.device;
  row.dtype = moe::name_of(options.model.dtype);
  row.ranks = options.job.ranks;
  nlohmann::json parameters{{"study", study_.name},
                            {"schedule", schedule_id},
                            {"planner", schedule.planner},
                            {"status", result.status}};
  const std::string of_schedule = parameters_of_schedule(schedule);
  parameters.update(nlohmann::json::parse(of_schedule));
  if (result.status == "done") {
    parameters["run"] = result.run_id;
    row.time_s = row.min_s = row.max_s = result.iteration_s;
    for (const db::Iteration& one :
         db::load_iterations(connection_, result.run_id, moe::kWarmupIterations + 1)) {
      row.min_s = std::min(row.min_s, one.duration_s);
      row.max_s = std::max(row.max_s, one.duration_s);
      ++row.samples;
    }
  } else {
    parameters["error"] = result.error;
  }
  row.parameters_json = parameters.dump();
  db::insert(connection_, std::span<const db::Measurement>(&row, 1));
  options.say(fmt::format("  micro-profile of {} {}: {}", schedule.planner, of_schedule,
                          row.samples > 0
                              ? db::format_cell("measured_s", row.time_s) + " an iteration"
                              : fmt::format("{}: {}", result.status, result.error)));
  return seconds_measured(row);
}

}  // namespace tuner
