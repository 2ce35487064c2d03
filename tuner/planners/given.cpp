#include "tuner/planners/given.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "moe/errors.h"

namespace tuner {
namespace {

std::string with_name(const std::string& parameters_json, const std::string& name) {
  const std::string others = parameters_json.substr(1, parameters_json.size() - 2);
  return fmt::format(
      R"({{"given": {}{}{}}})",
      nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      others.empty() ? "" : ", ", others);
}

}  // namespace

Given load_given(const std::string& path, const moe::Program& whole) {
  Given given{path, std::filesystem::path(path).stem().string(), moe::load_schedule(path), {}};
  moe::check_applies(whole, given.schedule, path);
  given.program = moe::apply(whole, given.schedule);
  return given;
}

moe::Schedule join(moe::Schedule planned, const Given& given, const moe::Program& whole) {
  planned.decisions.insert(planned.decisions.end(), given.schedule.decisions.begin(),
                           given.schedule.decisions.end());
  moe::check_applies(whole, planned, given.file);
  return planned;
}

GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const Given& given) {
  const Situation situation{given.program, whole.groups, whole.routing, whole.costs, whole.cluster};
  GivenCandidates result;
  for (Candidate& candidate : planner.candidates(situation, options)) {
    try {
      candidate.schedule = join(std::move(candidate.schedule), given, whole.program);
    } catch (const moe::InputError& error) {
      result.refused.push_back(
          fmt::format("{} {}: {}", candidate.planner, candidate.parameters_json, error.what()));
      continue;
    }
    if (candidate.planner == "sequential") {
      candidate.planner = candidate.schedule.planner = "given";
    }
    candidate.parameters_json = with_name(candidate.parameters_json, given.name);
    result.candidates.push_back(std::move(candidate));
  }
  return result;
}

}  // namespace tuner
