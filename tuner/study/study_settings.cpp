#include "tuner/study/study_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "db/console/options.h"
#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"

namespace tuner {

using nlohmann::json;

std::span<const StudySetting> study_settings() {
  using O = StudyOptions&;
  using Texts = std::vector<std::string>;
  using Rule = OnResume::Rule;
  using Kind = SettingRange::Kind;
  constexpr OnResume same{Rule::same}, free{Rule::free}, once{Rule::once};
  const auto kept = [](double usual) { return OnResume{Rule::kept, usual}; };
  const auto as = [](Kind kind) { return SettingRange{kind}; };
  const auto whole = [](std::int64_t least, std::int64_t most) {
    return SettingRange{Kind::whole, least, most};
  };
  constexpr std::int64_t kMillion = 1'000'000;
  const char *const scenario = "Scenario", *const candidates = "Candidates", *const runs = "Runs",
                    *const process = "Process";
  static const std::array settings{
      StudySetting{scenario, "routing", same, as(Kind::routing),
                   [](O o) -> std::string& { return o.routing; },
                   "predict with this routing [default: what training routes]"},
      StudySetting{scenario, "data", same, as(Kind::files),
                   [](O o) -> Texts& { return o.job.data; },
                   "what to train on [default: as moe-train]"},
      StudySetting{scenario, "seed", once, as(Kind::whole),
                   [](O o) -> std::optional<std::int64_t>& { return o.job.seed; },
                   "use this seed instead of the model's"},

      StudySetting{candidates, "planners", free, as(Kind::planners),
                   [](O o) -> std::vector<PlannerRequest>& { return o.planners; },
                   "try the candidates of these planners, with commas between them"},
      StudySetting{candidates, "given", same, as(Kind::schedules),
                   [](O o) -> Texts& { return o.given; },
                   "every candidate is also tried on top of the decisions of this JSON file; may "
                   "come several times"},
      StudySetting{candidates, "most_chunks", free, whole(1, 64),
                   [](O o) -> int& { return o.most_chunks; },
                   "the largest number of chunks of a layer, and of parts of the batch, that "
                   "planners try"},
      StudySetting{candidates, "top", free, as(Kind::best), [](O o) -> int& { return o.top; },
                   "run the K candidates with the best prediction; all: run all; each: run the "
                   "best of each planner"},
      StudySetting{candidates, "memory_limit_bytes", same, as(Kind::size),
                   [](O o) -> std::int64_t& { return o.job.memory_limit_bytes; },
                   "how much memory the tensors of a rank may take: bytes, or with K, M, G or T; "
                   "a candidate that needs more is infeasible",
                   "--memory-limit"},
      StudySetting{candidates, "micro_profile_steps", free, whole(0, kMillion),
                   [](O o) -> int& { return o.micro_profile_steps; },
                   "let mpmoe_pb choose by runs of N iterations each, after warm-up; 0: it "
                   "chooses by simulation"},

      StudySetting{runs, "repeats", free, whole(1, 1000), [](O o) -> int& { return o.repeats; },
                   "run each candidate N times on average, in turns with sequential; after two "
                   "repeats, those that are tied with the fastest go first"},
      StudySetting{runs, "steps", same, whole(1, kMillion), [](O o) -> int& { return o.job.steps; },
                   "how many iterations each run has"},
      StudySetting{runs, "profile_rounds", kept(kProfileRounds), whole(1, 100),
                   [](O o) -> std::optional<int>& { return o.profile_rounds; },
                   "how often each schedule runs to learn costs; more rounds tell better what "
                   "changes with time"},
      StudySetting{runs, "profile", OnResume{Rule::kept, 0, kProfileOne}, as(Kind::profile),
                   [](O o) -> std::string& { return o.profile; },
                   "with --layouts: profile one layout, and of others what it lacks, and predict "
                   "all by these costs; or profile each by itself"},
      StudySetting{runs, "most_of_others", kept(kUsualOthers), as(Kind::share),
                   [](O o) -> std::optional<double>& { return o.most_of_others; },
                   "run again, up to twice, where other processes had more than this share of "
                   "the processors; 1: never"},
      StudySetting{runs, "refinements", kept(0), whole(0, 100),
                   [](O o) -> std::optional<int>& { return o.refinements; },
                   "after all runs, fit costs to what they took, plan again and run what is new "
                   "among the best; up to N times, while that finds a faster one",
                   "--refine"},
      StudySetting{runs, "trial_time_limit", once, as(Kind::seconds),
                   [](O o) -> double& { return o.trial_time_limit_s; },
                   "how many seconds a run may take [default: from its prediction]"},
      StudySetting{runs, "device", same, as(Kind::device),
                   [](O o) -> std::string& { return o.job.device; }, "where to compute"},
      StudySetting{runs, "threads", same, whole(1, db::options::kMostThreads),
                   [](O o) -> int& { return o.job.threads; },
                   "how many CPU threads a rank computes with [default: as moe-train]"},
      StudySetting{runs, "copy_gbps", same, as(Kind::gigabits),
                   [](O o) -> double& { return o.job.copy_gbps; },
                   "with --device cpu: how many Gbit/s the link carries to the memory that "
                   "schedules offload to [default: as fast as memory is]"},

      StudySetting{process, "resume", once, as(Kind::flag), [](O o) -> bool& { return o.resume; },
                   "continue a study that was interrupted, or go on with more planners or "
                   "repeats; begin it where there is none"},
      StudySetting{process, "retry_failed", once, as(Kind::flag),
                   [](O o) -> bool& { return o.retry_failed; },
                   "with --resume: also try again what ran out of memory, hung, crashed or "
                   "failed"},
      StudySetting{process, "budget", once, as(Kind::time),
                   [](O o) -> double& { return o.budget_s; },
                   "begin no run that would end after this time, as in 90s, 30m or 2h; --resume "
                   "goes on [default: any time]"},
      StudySetting{process, "dry_run", once, as(Kind::flag), [](O o) -> bool& { return o.dry_run; },
                   "print what would be run, and how long that takes; nothing is run or written"},
  };
  return settings;
}

std::string option_of(const StudySetting& setting) {
  if (*setting.option != '\0') return setting.option;
  std::string option = fmt::format("--{}", setting.key);
  std::ranges::replace(option, '_', '-');
  return option;
}

std::string help_of(const StudySetting& setting) {
  if (setting.on_resume.rule != OnResume::Rule::kept) return setting.meaning;
  const OnResume& kept = setting.on_resume;
  return fmt::format("{} [default: as the study was begun, or {}]", setting.meaning,
                     *kept.usual_text != '\0' ? kept.usual_text : fmt::format("{}", kept.usual));
}

namespace {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

json value_of(const StudySetting& setting, StudyOptions& options) {
  return std::visit(
      [&](const auto& field) -> json {
        auto& value = field(options);
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (is_optional<Value>) {
          return value.value_or(static_cast<typename Value::value_type>(setting.on_resume.usual));
        } else if constexpr (std::is_same_v<Value, std::vector<PlannerRequest>>) {
          json planners = json::array();
          for (const PlannerRequest& request : value) planners.push_back(to_text(request));
          return planners;
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return value.empty() ? setting.on_resume.usual_text : value;
        } else {
          return value;
        }
      },
      setting.field);
}

void keep(const StudySetting& setting, const json& begun, StudyOptions& options) {
  std::visit(
      [&](const auto& field) {
        auto& value = field(options);
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (is_optional<Value>) {
          using Number = typename Value::value_type;
          if (!value)
            value = begun.value(setting.key, static_cast<Number>(setting.on_resume.usual));
        } else if constexpr (std::is_same_v<Value, std::string>) {
          if (value.empty()) {
            value = begun.value(setting.key, std::string(setting.on_resume.usual_text));
          }
        }
      },
      setting.field);
}

}  // namespace

std::string settings_json(const StudyOptions& options, const std::vector<Given>& given) {
  StudyOptions copy = options;
  json settings;
  for (const StudySetting& one : study_settings()) {
    if (one.on_resume.rule != OnResume::Rule::once) settings[one.key] = value_of(one, copy);
    const bool is_given = one.range.kind == SettingRange::Kind::schedules;  // below
    if (one.on_resume.rule == OnResume::Rule::same && !is_given) {
      settings["in_common"].push_back(one.key);
    }
  }
  if (!options.chosen.empty()) settings["chosen"] = options.chosen;
  settings["given"] = json::array();  // files may be gone when the study goes on
  for (const Given& each : given) {
    settings["given"].push_back(
        {{"name", each.name}, {"decisions", moe::decisions_json(each.schedule)}});
  }
  return settings.dump();
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

std::string other_setting_than(const json& before, const json& now) {
  for (const StudySetting& one : study_settings()) {
    if (one.on_resume.rule != OnResume::Rule::same) continue;
    const json was = before.value(one.key, json()), is = now.at(one.key);
    if (one.range.kind != SettingRange::Kind::schedules) {
      if (was != is) return one.key;
      continue;
    }
    // Each was profiled at its place.
    if (was.size() > is.size() || !std::equal(was.begin(), was.end(), is.begin())) {
      return option_of(one) + ", or with others before them";
    }
  }
  return "";
}

}  // namespace

void keep_settings(StudyOptions& options, const std::string& begun_json) {
  read_stored(begun_json, [&](const json& begun) {
    for (const StudySetting& one : study_settings()) {
      if (one.on_resume.rule == OnResume::Rule::kept) keep(one, begun, options);
    }
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
  if (study.layout != to_text(layout)) {
    throw moe::InputError(
        fmt::format("study \"{}\" was begun with layout {}, not {}: name another study",
                    options.name, study.layout, to_text(layout)));
  }
  const std::string other = other_setting(study.settings_json, settings_json(options, given));
  if (!other.empty()) refuse(other);
}

}  // namespace tuner
