#pragma once

#include <string>
#include <vector>

#include "db/records.h"
#include "moe/rows/layout.h"
#include "tuner/scenario/given.h"
#include "tuner/study/study.h"

namespace tuner {

/// The settings of a study, as its row of the database keeps them: {"planners": [...], "steps": 20,
/// ...}.
std::string settings_json(const StudyOptions& options, const std::vector<Given>& given);

/// The measuring settings of a study: as asked for now, else as it was begun, else the defaults.
struct HowMeasured {
  int profile_rounds = kProfileRounds;
  double most_of_others = kUsualOthers;
  int refinements = 0;
};
/// `begun_json`: settings_json of a study that goes on; "{}" of one that begins.
HowMeasured how_measured(const StudyOptions& options, const std::string& begun_json);

/// StudyOptions::routing of a stored study. Throws moe::InputError where the text is no settings.
std::string stored_routing(const std::string& settings_json);

/// The first setting that differs although all trials of a study must have it in common; "" where
/// there is none. More repeats, candidates, planners or given files, and longer micro-profiles, may
/// be asked for later.
std::string other_setting(const std::string& before_json, const std::string& now_json);

/// Throws moe::InputError where a study goes on with another model, number of ranks, layout, or
/// setting that its trials are compared under.
void check_same_inputs(const db::Study& study, const StudyOptions& options,
                       const moe::Layout& layout, const std::vector<Given>& given);

}  // namespace tuner
