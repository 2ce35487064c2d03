#include "db/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "db/console/output_file.h"
#include "db/load.h"
#include "db/output_place.h"
#include "db/statement.h"

namespace db {

Timeline default_timeline(const Connection& connection, std::int64_t run_id) {
  load_run(connection, run_id);  // says so where there is no such run
  const auto timelines = load_timelines(connection, {.run_id = run_id});
  if (timelines.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no timeline", connection.path(), run_id));
  }
  // Runs keep the most typical iteration first and may end on the one that warmed up.
  return *std::min_element(
      timelines.begin(), timelines.end(), [](const Timeline& a, const Timeline& b) {
        const bool a_measured = a.kind == kMeasured;
        if (a_measured != (b.kind == kMeasured)) return a_measured;
        return a_measured ? a.iteration > b.iteration : a.duration_s < b.duration_s;
      });
}

std::optional<Timeline> prediction_beside(const Connection& connection, const Timeline& timeline) {
  if (timeline.kind != kMeasured) return std::nullopt;
  const auto found = select<Timeline>(
      connection,
      "WHERE kind = 'predicted' AND (run_id = ?1 OR trial_id = ?2 OR trial_id IN "
      "(SELECT trial_id FROM trial_repeat WHERE run_id = ?1)) ORDER BY run_id = ?1 DESC, id DESC "
      "LIMIT 1",
      timeline.run_id, timeline.trial_id);
  if (found.empty()) return std::nullopt;
  return found.front();
}

void export_routing(const Connection& connection, std::int64_t run_id, int iteration,
                    const std::string& path) {
  refuse_database_as_output(path, connection.path());
  struct Layer {
    int first_rank = 0;
    std::vector<std::vector<std::int64_t>> tokens;  // by rank of the stage, then by expert
  };
  std::map<std::pair<int, int>, Layer> layers;  // by micro-batch and layer
  // Ascending by layer, rank, expert.
  for (const Load& load :
       load_loads(connection,
                  {.run_id = run_id, .first_iteration = iteration, .last_iteration = iteration})) {
    const auto [found, is_new] = layers.try_emplace({std::max(load.micro_batch, 0), load.layer});
    Layer& layer = found->second;
    if (is_new) layer.first_rank = load.rank;
    layer.tokens.resize(static_cast<std::size_t>(load.rank - layer.first_rank) + 1);
    layer.tokens.back().push_back(load.tokens);
  }
  if (layers.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no loads of iteration {}; moe-db loads lists what is "
                            "stored, moe-train --loads-every 1 stores all",
                            connection.path(), run_id, iteration));
  }
  nlohmann::json entries = nlohmann::json::array();
  for (const auto& [key, layer] : layers) {
    const auto [micro_batch, index] = key;
    entries.push_back({{"layer", index}, {"tokens", layer.tokens}});
    if (micro_batch > 0) entries.back()["micro_batch"] = micro_batch;
  }
  OutputFile file(path);
  file.write(nlohmann::json{{"layers", entries}}.dump() + "\n");
  file.commit();
}

int export_routings(const Connection& connection, std::int64_t run_id, const std::string& folder) {
  const std::vector<int> iterations = load_recorded_iterations(connection, run_id);
  make_output_folder(folder);
  for (const int iteration : iterations) {
    const std::string name = fmt::format("iteration-{}.json", iteration);
    export_routing(connection, run_id, iteration, (std::filesystem::path(folder) / name).string());
  }
  return static_cast<int>(iterations.size());
}

int last_loads_iteration(const Connection& connection, std::int64_t run_id) {
  load_run(connection, run_id);  // says so where there is no such run
  const std::vector<int> iterations = load_recorded_iterations(connection, run_id);
  if (iterations.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no loads", connection.path(), run_id));
  }
  return iterations.back();
}

}  // namespace db
