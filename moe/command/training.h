#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/communicator/communicator.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/resume.h"
#include "moe/train/data.h"
#include "moe/train/planning.h"

namespace moe {

/// The schedules of a training: what it begins with, and who changes it.
struct SchedulePlan {
  std::vector<Schedule> schedules;  ///< the one that it begins with; several take turns (turns.h)
  Replan replan{};                  ///< TrainOptions::replan; may be empty
  std::string remark{};  ///< a line for a person before the first iteration; may be empty
  /// Makes a line for a person after the last iteration; may be empty.
  std::function<std::string()> last_remark{};
};

/// Everything that moe-train reads before it starts a rank.
struct TrainInputs {
  Model model;
  SchedulePlan plan;
  Corpus corpus;
  std::optional<ResumePoint> resume;
  DataOptions data{};
};

/// True where parameters are evaluated, or write, without an iteration.
bool only_evaluates(const TrainArguments& arguments, const TrainInputs& inputs);

/// The iterations of all schedules that take turns.
std::int64_t iterations_of(const TrainArguments& arguments, const TrainInputs& inputs);

/// Plans for `--planner`, for the model with these settings (TrainArguments::settings).
using MakePlan = std::function<SchedulePlan(const std::vector<std::string>& settings)>;

/// Reads and checks model, schedule, checkpoint and corpus, and opens the database. Throws
/// InputError, Refusal, db::Error.
TrainInputs read_inputs(const TrainArguments& arguments, const MakePlan& make_plan);

/// Trains, or prints the program, on one rank of `world`. Throws as train() does.
void run_training(const TrainArguments& arguments, const TrainInputs& inputs, Communicator& world,
                  int argc, char** argv);

}  // namespace moe
