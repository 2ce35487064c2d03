#pragma once

#include <string>
#include <vector>

#include "tuner/commands/commands.h"
#include "tuner/study/study.h"

namespace tuner {

/// Gives a study of a loaded model its layout, where none is asked for: as the study was begun, else
/// the fastest by search, with what else of the model the search chose. Searches by --cluster, else by
/// what the database has measured; where that is nothing, all experts are over all ranks. Says which.
void choose_layout(const Arguments& arguments, StudyOptions& study);

/// The studies that `--layouts` asks for, one of each layout, named "NAME dp=2,ep=2": as they were
/// begun, or the fastest by search ("best:3", "all"), or those of a list ("ep=4/dp=2,ep=2"). Throws
/// moe::InputError where the text is neither, or there are no costs to search by; moe::Refusal where
/// nothing fits.
std::vector<StudyOptions> studies_of_layouts(const Arguments& arguments, const StudyOptions& study);

/// Runs them in turns (study/studies_in_turns.h) and prints their trials in one table, the fastest
/// first. Returns the exit code.
int study_layouts(const Arguments& arguments, const std::vector<StudyOptions>& studies);

}  // namespace tuner
