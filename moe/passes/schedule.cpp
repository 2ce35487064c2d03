#include "moe/passes/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "moe/errors.h"
#include "moe/passes/assign_stream.h"
#include "moe/passes/pipeline_split.h"

namespace moe {
namespace {

using Json = nlohmann::json;

/// A member of a JSON object with its type checked. Throws InputError naming the key.
template <class T>
T member(const Json& object, const char* key, const char* expected) {
  if (!object.contains(key))
    throw InputError(fmt::format("schedule: \"{}\" is missing in {}", key, object.dump()));
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception&) {
    throw InputError(
        fmt::format("schedule: \"{}\": expected {}, got {}", key, expected, object.at(key).dump()));
  }
}

void check_keys(const Json& object, std::initializer_list<const char*> known) {
  if (!object.is_object())
    throw InputError(fmt::format("schedule: expected an object, got {}", object.dump()));
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw InputError(fmt::format("schedule: unknown key \"{}\"; known are {}", key,
                                   fmt::join(known.begin(), known.end(), ", ")));
}

}  // namespace

Program apply(Program program, const Schedule& schedule) {
  for (const PipelineSplit& split : schedule.pipelines)
    program = pipeline_split(std::move(program), split);
  for (const StreamAssignment& assignment : schedule.streams)
    program = assign_stream(std::move(program), assignment);
  return program;
}

std::string to_json(const Schedule& schedule) {
  Json pipelines = Json::array(), streams = Json::array();
  for (const PipelineSplit& split : schedule.pipelines)
    pipelines.push_back(
        {{"layer", split.layer}, {"phase", phase_name(split.phase)}, {"chunks", split.chunks}});
  for (const StreamAssignment& assignment : schedule.streams)
    streams.push_back({{"kind", assignment.kind}, {"stream", stream_name(assignment.stream)}});
  std::sort(pipelines.begin(), pipelines.end());
  std::sort(streams.begin(), streams.end());
  return Json{{"planner", schedule.planner}, {"pipelines", pipelines}, {"streams", streams}}.dump(
      2);
}

Schedule schedule_from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("schedule: not JSON: {}", error.what()));
  }
  check_keys(json, {"planner", "pipelines", "streams"});
  Schedule schedule;
  schedule.planner = json.contains("planner") ? member<std::string>(json, "planner", "a name") : "";
  for (const Json& entry : json.value("pipelines", Json::array())) {
    check_keys(entry, {"layer", "phase", "chunks"});
    const auto phase = phase_from_name(member<std::string>(entry, "phase", "a phase"));
    if (!phase)
      throw InputError(fmt::format("schedule: \"phase\": expected forward or backward, got {}",
                                   entry.at("phase").dump()));
    schedule.pipelines.push_back({member<int>(entry, "layer", "a number"), *phase,
                                  member<int>(entry, "chunks", "a number")});
  }
  for (const Json& entry : json.value("streams", Json::array())) {
    check_keys(entry, {"kind", "stream"});
    const auto stream = stream_from_name(member<std::string>(entry, "stream", "a stream"));
    if (!stream)
      throw InputError(fmt::format(
          "schedule: \"stream\": expected compute, inter_node, intra_node, copy or host, got {}",
          entry.at("stream").dump()));
    schedule.streams.push_back({member<std::string>(entry, "kind", "an op kind"), *stream});
  }
  return schedule;
}

Schedule load_schedule(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("{}: cannot be read", path));
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return schedule_from_json(text.str());
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace moe
