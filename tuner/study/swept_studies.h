#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/study/study.h"

/// A sweep: studies of several models, which differ in some keys, one after another.
namespace tuner {

struct SweptStudy {
  std::vector<std::string> settings;  ///< of this combination: "moe.experts=8"
  StudyOptions options;               ///< its budget is not read
  /// What the model's file or its keys refuse; "" where the study can be run.
  std::string refusal;
  StudyEnd end;
};

/// "NAME moe.experts=8 moe.choices=2"; without `swept` settings NAME alone.
std::string name_of_swept(const std::string& name, const std::vector<std::string>& swept);

/// Runs them (run_study) in their order, all within `budget_s` (0: any time). `say` gets a line as
/// each begins. A study that fails is told by its `end.failure`, and the next one runs; where the
/// budget is used, or no rank can be started, those that are left are not begun: their `end.id` is 0.
/// Throws moe::InputError, before anything is trained, where one exists and is not to be resumed;
/// the first refusal where there is nothing else; and as run_study where a signal asks for the end or
/// the database can no longer be written.
void run_studies(std::vector<SweptStudy>& studies, double budget_s,
                 const std::function<void(const std::string&)>& say);

}  // namespace tuner
