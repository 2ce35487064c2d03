#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/same_inputs.h"
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
  std::vector<std::string> from{};  ///< [schedule]: its file, "stdin:2"; "" of no file
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

/// The schedule that `--planner` begins with.
struct FirstPlan {
  Schedule schedule;
  std::string remark{};  ///< SchedulePlan::remark
  std::string costs{};   ///< what further plans are made from, in a form of the planner's own
};
/// How it goes on from there.
struct FurtherPlans {
  Replan replan{};
  std::function<std::string()> last_remark{};  ///< SchedulePlan::last_remark
};
/// Plans for `--planner`. One process plans first, for all ranks, and reads what that needs, for
/// the model with these settings (TrainArguments::settings). Rank 0 plans further, for the model as
/// it is trained and with FirstPlan::costs, and reads no file.
struct TrainingPlanner {
  std::function<FirstPlan(const std::vector<std::string>& settings)> first{};
  std::function<FurtherPlans(const Model& model, const std::string& costs)> further{};
};

struct SharedInputs;

/// Takes over what one process has read for all ranks (shared_inputs.h), and reads and checks what
/// each reads for itself: checkpoint and corpus. Outside a job it also tries the schedules, and
/// opens the database. Throws InputError, Refusal, db::Error.
TrainInputs take_inputs(const TrainArguments& arguments, const SharedInputs& shared,
                        const TrainingPlanner& planner, int rank);

/// What all ranks must have read alike for themselves.
std::vector<InputFact> facts_of(const TrainArguments& arguments, const TrainInputs& inputs);

/// Trains, or prints the program, on one rank of `world`. Throws as train() does.
void run_training(const TrainArguments& arguments, const TrainInputs& inputs, Communicator& world,
                  int argc, char** argv);

}  // namespace moe
