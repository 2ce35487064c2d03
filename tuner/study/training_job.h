#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/console/in_process.h"
#include "db/console/launcher.h"
#include "db/network.h"
#include "moe/child.h"
#include "moe/passes/schedule.h"

namespace tuner {

/// A study's settings for moe-train. Trials differ only in the schedule.
struct TrainingJob {
  std::string program;  ///< path of moe-train
  std::string model;
  std::vector<std::string> settings{};  ///< keys of the model with other values
  std::string database;
  std::string device = "cpu";
  int ranks = 1;
  std::string layout;  ///< moe::parse_layout; "" = all experts over all ranks
  db::options::Launcher launcher{};
  db::options::InProcess in_process{};  ///< its ranks are threads of one process, if it has any
  int steps = 20;
  int threads = 0;  ///< 0 = moe-train's default
  std::optional<std::int64_t> seed;
  /// Candidates that are predicted to need more are infeasible, too. 0 = moe-train's default.
  std::int64_t memory_limit_bytes = 0;
  double copy_gbps = 0;  ///< rate of copies to the host's memory; 0 = unlimited
  std::vector<std::string> data;

  /// Between the ranks.
  std::string network() const {
    return in_process ? db::one_gpu_network(in_process) : db::this_network();
  }
};

/// The result of a run of moe-train under one schedule.
struct JobResult {
  /// A trial status of the database: "done", "out_of_memory", "hung", "crashed" or "failed"; or one
  /// that is no verdict on a schedule.
  std::string status;
  std::string error;  ///< the message of a failed run, in one line
  int exit_code = 0;  ///< 128 + the signal where one ended it
  std::int64_t run_id = 0;
  double iteration_s = 0;  ///< median
  std::int64_t measured_peak_bytes = 0;
};

/// db::kNotStarted or db::kLostNode: no schedule is to blame, and a trial that ended so is tried
/// again.
bool is_no_verdict(std::string_view status);

/// Trains under `schedules`, which moe-train reads on its stdin, one a line, and waits; several take
/// turns (moe/train/turns.h) and have `steps` iterations each. `timelines`: how many typical
/// iterations of each are kept. Returns a result for each schedule; a training that fails is the
/// failure of all of them. Throws moe::Stopped when this process is asked to end, and as classify().
std::vector<JobResult> train(const TrainingJob& job, std::span<const moe::Schedule> schedules,
                             int steps, int timelines, double time_limit_s,
                             const std::function<void()>& alive);

/// Tells failures apart by the outcome that moe-train printed (moe/outcome.h), and by the exit code
/// where it printed none. A time limit (ours, or moe-train's) is "hung". Memory that ran out, or for
/// which the kernel killed processes meanwhile, is "out_of_memory". A lost rank is "crashed", a lost
/// host db::kLostNode, all else "failed". Where no rank was started, or the launcher ended without a
/// word of moe-train, it is db::kNotStarted. The text on stderr does not matter. Returns a result for
/// each of the `schedules` that took turns. Throws, since no schedule is to blame, moe::Stopped where
/// somebody asked the ranks to end (a batch system signals its steps), and moe::LostOutput where the
/// training could not store what it measured.
std::vector<JobResult> classify(const moe::ChildResult& child, bool kernel_killed_for_memory,
                                std::size_t schedules = 1);

/// Throws an error with which this process ends as the training did. `what` names the training.
[[noreturn]] void throw_failure(const std::string& what, const JobResult& result);

/// The path of moe-train beside this program. Throws moe::InputError where it is not there.
std::string find_moe_train();

}  // namespace tuner
