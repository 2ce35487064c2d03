#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "db/records.h"
#include "moe/rows/layout.h"
#include "tuner/scenario/given.h"
#include "tuner/study/study.h"

namespace tuner {

/// What a setting may be where a study goes on.
struct OnResume {
  enum class Rule : std::uint8_t {
    same,  ///< what the trials of a study have in common: another value is refused
    kept,  ///< as the study was begun, unless it is asked for
    free,  ///< another one each time
    once,  ///< of this call alone: not stored
  };
  Rule rule = Rule::free;
  double usual = 0;             ///< of what is kept: where it was never asked for
  const char* usual_text = "";  ///< the same of a text
};

struct SettingRange {
  enum class Kind : std::uint8_t {
    flag,       ///< its name alone
    whole,      ///< from `least` to `most`
    share,      ///< from 0 to 1
    seconds,    ///< above 0
    time,       ///< "90s", "30m", "2h" or "1d"
    gigabits,   ///< per second
    size,       ///< bytes, with or without K, M, G or T
    best,       ///< StudyOptions::top
    device,     ///< "cpu" or "cuda"
    profile,    ///< StudyOptions::profile
    planners,   ///< with commas between them
    routing,    ///< as --routing of other commands
    files,      ///< one or more
    schedules,  ///< files with decisions, which may come several times
  };
  Kind kind;
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
};

template <class T>
using StudyField = T& (*)(StudyOptions&);
using AnyStudyField =
    std::variant<StudyField<bool>, StudyField<int>, StudyField<std::int64_t>, StudyField<double>,
                 StudyField<std::string>, StudyField<std::vector<std::string>>,
                 StudyField<std::vector<PlannerRequest>>, StudyField<std::optional<int>>,
                 StudyField<std::optional<std::int64_t>>, StudyField<std::optional<double>>>;

/// One setting of a study, declared once. From it come its option and its help, its key in the
/// study's row, and what --resume does with it.
struct StudySetting {
  const char* group;  ///< of the help
  const char* key;    ///< "most_chunks", of --most-chunks
  OnResume on_resume;
  SettingRange range;
  AnyStudyField field;
  const char* meaning;
  const char* option = "";  ///< "--refine", where it is not the key's
};
/// In the order of the help.
std::span<const StudySetting> study_settings();

/// "--most-chunks"
std::string option_of(const StudySetting& setting);
/// Its meaning, and what holds where it is not asked for.
std::string help_of(const StudySetting& setting);

/// The settings of a study, as its row of the database keeps them: {"planners": [...], "steps": 20,
/// ..., "in_common": ["steps", ...]}; with "chosen" (StudyOptions) where that is not empty.
std::string settings_json(const StudyOptions& options, const std::vector<Given>& given);

/// Gives each setting that is kept a value: as asked for now, else as the study was begun, else the
/// usual one. `begun_json`: settings_json of a study that goes on; "{}" of one that begins.
void keep_settings(StudyOptions& options, const std::string& begun_json);

/// StudyOptions::routing of a stored study. Throws moe::InputError where the text is no settings.
std::string stored_routing(const std::string& settings_json);

/// The first setting that differs although all trials of a study must have it in common; "" where
/// there is none. More given files may be asked for later.
std::string other_setting(const std::string& before_json, const std::string& now_json);

/// Throws moe::InputError where a study goes on with another model, number of ranks, layout, or
/// setting that its trials are compared under.
void check_same_inputs(const db::Study& study, const StudyOptions& options,
                       const moe::Layout& layout, const std::vector<Given>& given);

}  // namespace tuner
