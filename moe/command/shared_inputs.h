#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/command/training.h"
#include "moe/communicator/same_inputs.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"

namespace moe {

/// What one process reads of a training for all its ranks: the files and plans that are small.
struct SharedInputs {
  Model model;                              ///< as its file, --set and --seed say
  std::vector<Schedule> schedules;          ///< that it begins with; several take turns
  std::vector<std::string> schedules_from;  ///< [schedule]: a file, "stdin:2"; "" of no file
  std::string remark;                       ///< a line for a person about the plan; may be empty
  std::string costs{};                      ///< FirstPlan::costs
  std::string cluster{};  ///< the checksum of the file of --cluster; "" where it names none
};

/// Reads model and schedules, or plans. Throws InputError, Refusal, db::Error.
SharedInputs read_shared_inputs(const TrainArguments& arguments, const TrainingPlanner& planner);

std::string to_json(const SharedInputs& inputs);
/// What to_json() wrote. Throws InputError.
SharedInputs shared_inputs_from_json(std::string_view text);

/// Of the files that this rank finds under the names that its command line has: what is otherwise
/// than in `shared`. Throws InputError for one that is there and cannot be read.
std::vector<InputFact> facts_of_own_files(const TrainArguments& arguments,
                                          const SharedInputs& shared);

}  // namespace moe
