#pragma once

#include <string>
#include <vector>

#include "tuner/planners/given.h"
#include "tuner/study/study.h"

namespace tuner {

/// What a study was asked, as its row of the database keeps it: {"planners": [...], "steps": 20, ...}.
std::string settings_json(const StudyOptions& options, const std::vector<Given>& given);

/// The first setting that trials of one study must have in common and that differs; "" where none does. More
/// repeats, candidates, planners or given files, and longer micro-profiles, may be asked for later.
std::string other_setting(const std::string& before_json, const std::string& now_json);

}  // namespace tuner
