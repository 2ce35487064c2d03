#pragma once

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/command/report.h"
#include "moe/command/step_log.h"
#include "moe/command/training.h"
#include "moe/communicator/open_device.h"
#include "moe/communicator/ranks.h"
#include "moe/rows/groups.h"
#include "moe/train/train_store.h"
#include "moe/train/trainer.h"

namespace moe {

/// What a person calls each schedule: its planner, or its file.
std::vector<std::string> schedule_names(const SchedulePlan& plan);

/// What a training is told to on rank 0: a person, a log and a database. One that can no longer be
/// written is told no more; the others are, until training has ended in order.
struct TrainingOutputs {
  std::optional<TrainReport> report;
  /// By schedule; none without --db. What took turns is stored as runs beside each other. A deque,
  /// since a store does not move.
  std::deque<TrainStore> stores;
  std::optional<StepLog> log;                                 ///< none without --log
  bool has_report = true, has_stores = true, has_log = true;  ///< can be written
  std::string lost;  ///< why one cannot; empty while all can
  bool said_zero_rate = false;
};

/// The command line as the database stores it.
struct CommandLine {
  int argc = 0;
  char** argv = nullptr;
};

/// Opens them. `begins`: the schedule of the first iteration; `products`: as in TrainStoreOptions. Throws db::Error,
/// db::OutputError, and InputError where the database is another than that of the launcher.
void open_outputs(TrainingOutputs& outputs, const TrainArguments& arguments,
                  const TrainInputs& inputs, const Groups& groups, const Schedule& begins,
                  const std::vector<RankInfo>& ranks, const OpenDevice& device,
                  const std::vector<db::RunProduct>& products, const CommandLine& command_line);

/// Tells all outputs. Keeps references to all arguments.
TrainObserver observer_of(const TrainArguments& arguments, const TrainInputs& inputs,
                          TrainingOutputs& outputs);

/// After the last iteration: completes the runs, and throws where an output was lost with it
/// (Stopped where a reader went away, else LostOutput).
void complete_runs(TrainingOutputs& outputs);
/// Stores how a training ended that throws `error`.
void abandon_runs(TrainingOutputs& outputs, const std::exception& error) noexcept;
/// Prints the summaries.
void print_summaries(TrainingOutputs& outputs);

}  // namespace moe
