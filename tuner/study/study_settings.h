#pragma once

#include <string>
#include <vector>

#include "tuner/scenario/given.h"
#include "tuner/study/study.h"

namespace tuner {

/// What a study was asked, as its row of the database keeps it: {"planners": [...], "steps": 20, ...}.
std::string settings_json(const StudyOptions& options, const std::vector<Given>& given);

/// How a study comes by its figures: what is asked for now, else what it was begun with, else the usual.
struct HowMeasured {
  int profile_rounds = kProfileRounds;
  double most_of_others = kUsualOthers;
};
/// `begun_json`: settings_json of a study that goes on; "{}" of one that begins.
HowMeasured how_measured(const StudyOptions& options, const std::string& begun_json);

/// The first setting that trials of one study must have in common and that differs; "" where none does. More
/// repeats, candidates, planners or given files, and longer micro-profiles, may be asked for later.
std::string other_setting(const std::string& before_json, const std::string& now_json);

}  // namespace tuner
