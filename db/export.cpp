#include "db/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "db/console/output_file.h"
#include "db/import_routing.h"
#include "db/load.h"
#include "db/output_place.h"
#include "db/statement.h"

namespace db {

TimelineInfo default_timeline(const Connection& connection, std::int64_t run_id) {
  load_run(connection, run_id);  // says so where there is no such run
  const auto timelines = load_timelines(connection, {.run_id = run_id});
  if (timelines.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no timeline", connection.path(), run_id));
  }
  // Runs keep the most typical iteration first and may end on the one that warmed up.
  return *std::min_element(
      timelines.begin(), timelines.end(), [](const TimelineInfo& a, const TimelineInfo& b) {
        const bool a_measured = a.kind == kMeasured;
        if (a_measured != (b.kind == kMeasured)) return a_measured;
        return a_measured ? a.iteration > b.iteration : a.duration_s < b.duration_s;
      });
}

std::optional<TimelineInfo> prediction_beside(const Connection& connection,
                                              const TimelineInfo& timeline) {
  if (timeline.kind != kMeasured) return std::nullopt;
  const auto found = select<TimelineInfo>(
      connection,
      "WHERE kind = 'predicted' AND (run_id = ?1 OR trial_id = ?2 OR trial_id IN "
      "(SELECT trial_id FROM trial_repeat WHERE run_id = ?1)) ORDER BY run_id = ?1 DESC, id DESC "
      "LIMIT 1",
      timeline.run_id, timeline.trial_id);
  if (found.empty()) return std::nullopt;
  return found.front();
}

namespace {

/// A MoE layer in a micro-batch: [rank of the stage][expert].
struct StoredLayer {
  int first_rank = 0;
  std::vector<std::vector<std::int64_t>> tokens;
  std::vector<std::vector<std::int64_t>> asked;  ///< as tokens, where that was not stored
};

/// By micro-batch and layer. Throws Error (invalid) where a row is missing.
std::map<std::pair<int, int>, StoredLayer> stored_layers(const Connection& connection,
                                                         std::int64_t run_id, int iteration) {
  std::map<std::pair<int, int>, StoredLayer> layers;
  // Ascending by layer, rank, expert.
  for (const Load& load :
       load_loads(connection,
                  {.run_id = run_id, .first_iteration = iteration, .last_iteration = iteration})) {
    const auto [found, is_new] = layers.try_emplace({std::max(load.micro_batch, 0), load.layer});
    StoredLayer& layer = found->second;
    if (is_new) layer.first_rank = load.rank;
    if (load.expert == 0) {
      layer.tokens.emplace_back();
      layer.asked.emplace_back();
    }
    const auto ranks = static_cast<std::int64_t>(layer.tokens.size());
    if (load.rank - std::int64_t{layer.first_rank} + 1 != ranks ||
        load.expert != static_cast<std::int64_t>(layer.tokens.back().size())) {
      throw Error(
          ErrorKind::invalid,
          fmt::format("{}: run {}, iteration {}, layer {}: rank {}, expert {} does not "
                      "follow on the loads before it: some are missing",
                      connection.path(), run_id, iteration, load.layer, load.rank, load.expert));
    }
    if (load.asked_tokens.value_or(load.tokens) < load.tokens) {
      throw Error(
          ErrorKind::invalid,
          fmt::format("{}: run {}, iteration {}, layer {}, rank {}, expert {}: {} tokens of "
                      "{} that were asked for: expected no more than these",
                      connection.path(), run_id, iteration, load.layer, load.rank, load.expert,
                      load.tokens, *load.asked_tokens));
    }
    layer.tokens.back().push_back(load.tokens);
    layer.asked.back().push_back(load.asked_tokens.value_or(load.tokens));
  }
  return layers;
}

}  // namespace

void export_routing(const Connection& connection, std::int64_t run_id, int iteration,
                    const std::string& path) {
  refuse_database_as_output(path, connection.path());
  const auto layers = stored_layers(connection, run_id, iteration);
  if (layers.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no loads of iteration {}; moe-db loads lists what is "
                            "stored, moe-train --loads-every 1 stores all",
                            connection.path(), run_id, iteration));
  }
  const Run run = load_run(connection, run_id);
  const char* rows = run.kind == kRoutingRun ? "counts" : "tokens";  // of any total, or exact
  nlohmann::json routing;
  for (const auto& [key, layer] : layers) {
    const auto [micro_batch, index] = key;
    nlohmann::json entry{{"layer", index}, {rows, layer.tokens}};
    if (micro_batch > 0) entry["micro_batch"] = micro_batch;
    if (layer.asked != layer.tokens) entry["asked"] = layer.asked;
    routing["layers"].push_back(std::move(entry));
  }
  // Under which capacity copies were dropped, by the keys of model files.
  const auto model = nlohmann::json::parse(run.model_json, nullptr, false);
  if (run.kind == kRoutingRun) {
    if (const auto choices = model.find("choices"); choices != model.end()) {
      routing["choices"] = *choices;
    }
  } else if (model.is_object()) {
    for (const char* key : {"capacity_factor", "capacity_groups"}) {
      const auto value = model.find(key);
      if (value != model.end() && model.value("capacity_factor", nlohmann::json()).is_number()) {
        routing[key] = *value;
      }
    }
  }
  OutputFile file(path);
  file.write(routing.dump() + "\n");
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
