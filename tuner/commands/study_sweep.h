#pragma once

#include <string>
#include <vector>

#include "tuner/commands/commands.h"
#include "tuner/scenario/sweep.h"
#include "tuner/study/swept_studies.h"

namespace tuner {

/// Makes it a study of the model of `options.job` with these settings. Throws as moe::load_model.
void set_model(StudyOptions& options, const std::vector<std::string>& settings);

/// What a dry run of studies would train; without `keys` of one study.
void print_plans(const std::vector<SweptKey>& keys, const std::vector<SweptStudy>& studies,
                 const Arguments& arguments);

/// A study for each combination of settings, one after another, and a table of what each found
/// fastest. Returns the exit code. Throws as run_studies.
int sweep_studies(const std::vector<SweptKey>& keys,
                  const std::vector<std::vector<std::string>>& combinations,
                  const Arguments& arguments);

}  // namespace tuner
