#include "tuner/study/study_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"

namespace tuner {

using nlohmann::json;

std::string settings_json(const StudyOptions& options, const std::vector<Given>& given) {
  json planners = json::array();
  for (const PlannerRequest& request : options.planners) {
    planners.push_back(to_text(request));
  }
  json files = json::array();
  for (const Given& each : given) {
    files.push_back({{"name", each.name}, {"decisions", moe::decisions_json(each.schedule)}});
  }
  const HowMeasured how = how_measured(options, "{}");
  return json{{"planners", planners},
              {"given", files},
              {"most_chunks", options.most_chunks},
              {"top", options.top},
              {"repeats", options.repeats},
              {"steps", options.job.steps},
              {"device", options.job.device},
              {"threads", options.job.threads},
              {"memory_limit_bytes", options.memory_limit_bytes},
              {"copy_gbps", options.job.copy_gbps},
              {"micro_profile_steps", options.micro_profile_steps},
              {"profile_rounds", how.profile_rounds},
              {"most_of_others", how.most_of_others},
              {"refinements", how.refinements},
              {"routing", options.routing},
              {"data", options.job.data}}
      .dump();
}

namespace {

/// What `read` returns for the settings of a stored study. Throws moe::InputError where they are
/// not what settings_json writes: somebody has changed the database.
template <class Read>
auto read_stored(const std::string& text, const Read& read) {
  try {
    const json settings = json::parse(text);
    if (settings.is_object()) return read(settings);
  } catch (const json::exception&) {  // said below
  }
  throw moe::InputError(
      fmt::format("the study's settings_json in the database is {}: expected an object of settings "
                  "as moe-tune study writes it: name another study",
                  db::shortened(text, 200)));
}

/// A given schedule with its decisions as they are written today: older studies named some fields
/// otherwise.
json as_written_today(json given) {
  const std::string decisions = given.at("decisions");
  given["decisions"] =
      moe::decisions_json(moe::schedule_from_json("{\"decisions\": " + decisions + "}"));
  return given;
}

std::string other_setting_than(const json& before, const json& now) {
  for (const char* key : {"steps", "device", "threads", "memory_limit_bytes", "routing", "data"}) {
    if (before.value(key, json()) != now.at(key)) return key;
  }
  // Studies from before it could be asked for had none.
  if (before.value("copy_gbps", 0.0) != now.at("copy_gbps")) return "copy_gbps";
  // Each was profiled at its place.
  const json files = before.value("given", json::array());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i >= now.at("given").size() || as_written_today(files[i]) != now.at("given")[i]) {
      return "--given, or with others before them";
    }
  }
  return "";
}

}  // namespace

HowMeasured how_measured(const StudyOptions& options, const std::string& begun_json) {
  return read_stored(begun_json, [&](const json& begun) -> HowMeasured {
    const HowMeasured usual;
    return {options.profile_rounds.value_or(begun.value("profile_rounds", usual.profile_rounds)),
            options.most_of_others.value_or(begun.value("most_of_others", usual.most_of_others)),
            options.refinements.value_or(begun.value("refinements", usual.refinements))};
  });
}

std::string stored_routing(const std::string& settings_json) {
  return read_stored(settings_json,
                     [](const json& settings) { return settings.value("routing", std::string()); });
}

std::string other_setting(const std::string& before_json, const std::string& now_json) {
  return read_stored(before_json, [&](const json& before) {
    return other_setting_than(before, json::parse(now_json));
  });
}

void check_same_inputs(const db::Study& study, const StudyOptions& options,
                       const moe::Layout& layout, const std::vector<Given>& given) {
  const auto refuse = [&](const std::string& what) {
    throw moe::InputError(fmt::format("study \"{}\" was begun with another {}: name another study",
                                      options.name, what));
  };
  const auto differing =
      moe::differing_keys(moe::model_from_json(study.model_json, "its model"), options.model);
  if (!differing.empty()) {
    std::vector<std::string> keys;
    for (const moe::KeyDifference& one : differing) {
      keys.push_back(fmt::format("{} was {}, now {}", one.key, one.first, one.second));
    }
    refuse(fmt::format("model ({})", fmt::join(keys, "; ")));
  }
  if (study.ranks != options.job.ranks) refuse("number of ranks");
  // By degree: the text of a study from before a degree was known lacks it.
  if (moe::parse_layout(study.layout, study.ranks) != layout) {
    throw moe::InputError(
        fmt::format("study \"{}\" was begun with layout {}, not {}: name another study",
                    options.name, study.layout, to_text(layout)));
  }
  const std::string other = other_setting(study.settings_json, settings_json(options, given));
  if (!other.empty()) refuse(other);
}

}  // namespace tuner
