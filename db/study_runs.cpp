#include "db/study_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace db {
namespace {

using RunIds = std::vector<std::int64_t>;

std::optional<RunIds> run_ids_in(const nlohmann::json& json) {
  const auto is_id = [](const nlohmann::json& one) { return one.is_number_integer(); };
  if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_id)) return std::nullopt;
  return json.get<RunIds>();
}

}  // namespace

std::optional<RunIds> profile_runs(const Study& study) {
  if (study.profile_runs_json.empty()) return RunIds{};
  return run_ids_in(nlohmann::json::parse(study.profile_runs_json, nullptr, false));
}

std::optional<std::vector<RunIds>> refinement_runs(const Study& study) {
  if (study.refinement_runs_json.empty()) return std::vector<RunIds>{};
  const auto json = nlohmann::json::parse(study.refinement_runs_json, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  std::vector<RunIds> all;
  for (const nlohmann::json& one : json) {
    auto runs = run_ids_in(one);
    if (!runs) return std::nullopt;
    all.push_back(std::move(*runs));
  }
  return all;
}

}  // namespace db
