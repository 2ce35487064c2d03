#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/ranks.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/program/timeline.h"
#include "moe/run/runner.h"
#include "moe/train/balanced_turns.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/checkpoints.h"
#include "moe/train/checkpoint/resume.h"
#include "moe/train/data.h"
#include "moe/train/exposed_communication.h"
#include "moe/train/link_times.h"
#include "moe/train/move_experts.h"
#include "moe/train/outliers.h"
#include "moe/train/planning.h"
#include "moe/train/text_sample.h"

namespace moe {

struct TrainOptions {
  int steps = 100;
  int evaluate_every = 0;    ///< iterations between held-out losses; 0 = only after the last
  int evaluate_batches = 4;  ///< global batches per held-out loss
  DataOptions data;
  int balanced_steps = 0;  ///< steps of take_balanced_turns() after the last iteration; 0 = none
  RunOptions run;
  /// The schedules that take turns (turns.h); none where one is in force. The warm-up lasts until
  /// each has had its first iterations.
  std::vector<Schedule> turns;
  Replan replan;  ///< asked on rank 0 after every iteration but the last; may be empty
  PlanningTurn planning = PlanningTurn::between;
  std::optional<CheckpointOptions> checkpoint;
  std::optional<ResumePoint> resume;    ///< `steps` counts the iterations before it too
  bool only_evaluates = false;          ///< no iteration: only the held-out loss, and the sample
  std::optional<SampleOptions> sample;  ///< tokens for the model to add at the end
};

/// One iteration over all ranks, as rank 0 reports it.
struct StepReport {
  int iteration = 0;      ///< the number of the iteration, from 1
  bool warms_up = false;  ///< one of the first of this run
  double loss = 0;
  double auxiliary_loss = 0;  ///< sum of the load-balancing losses of all layers
  double z_loss = 0;          ///< sum over all routers; 0 where the model does not have it
  std::optional<double> heldout_loss;
  double learning_rate = 0;
  std::optional<double> gradient_norm;  ///< before clipping; none where gradients are not clipped
  std::optional<Outlier> outlier;       ///< why it made no update; none where it made one
  std::int64_t skipped = 0;             ///< steps so far that made none
  double duration_s = 0;                ///< of the rank that took longest, by its own clock
  double flops = 0;                     ///< of matrix products, all ranks (step_flops.h)
  /// Communication that no computation covered; none where spans are not recorded, and on other
  /// ranks than 0.
  std::optional<ExposedCommunication> exposed;
  std::int64_t dropped = 0;
  std::optional<double> max_over_mean;  ///< worst_max_over_mean() of the routing
  std::vector<EpochEnd> epoch_ends;     ///< with this iteration, where data is shuffled
  Routing routing;
  /// Of all ranks, on rank 0's clock. Empty where spans are not recorded.
  Timeline timeline;
  std::vector<std::int64_t> planned_peak_bytes;       ///< [rank]
  std::vector<std::int64_t> planned_host_peak_bytes;  ///< [rank], of offloaded activations
  /// By rank: how far the arena was written to. Measured in the first iterations, which every
  /// report counts as warm-up; 0 in the others.
  std::vector<std::int64_t> touched_peak_bytes;
  std::vector<std::vector<std::int64_t>> sent_bytes;  ///< [rank][op], as communicators counted
  std::vector<Received> received;  ///< by this rank; empty where that is not known
};

/// Called on rank 0.
struct TrainObserver {
  /// Before the first iteration, and before the first iteration of every new schedule.
  std::function<void(int iteration, const Schedule&, const Program&)> schedule =
      [](int, const Schedule&, const Program&) {};
  /// When experts have moved to other ranks, before the iteration that needs them there. The time
  /// that it takes is part of no iteration's duration.
  std::function<void(int iteration, const ExpertTraffic&, double duration_s)> moved =
      [](int, const ExpertTraffic&, double) {};
  /// After every iteration.
  std::function<void(const StepReport&)> step = [](const StepReport&) {};
  /// After an iteration for which a plan was made, with the planning time so far.
  std::function<void(const PlanningTime&)> planned = [](const PlanningTime&) {};
  /// After the last iteration, where balanced steps are measured.
  std::function<void(const BalancedTurns&)> balanced = [](const BalancedTurns&) {};
  /// After the last iteration, of each schedule: what ranks of different computers exchanged, where
  /// that is known.
  std::function<void(std::size_t schedule, const std::vector<db::RunLink>&)> links =
      [](std::size_t, const std::vector<db::RunLink>&) {};
  /// The held-out loss of parameters that are only evaluated, and their iteration.
  std::function<void(int iteration, double heldout_loss)> evaluated = [](int, double) {};
  /// The tokens that were asked for at the end.
  std::function<void(const std::vector<std::int32_t>&)> sampled =
      [](const std::vector<std::int32_t>&) {};
  /// Of checkpoints, from their begin until they are complete.
  CheckpointObserver checkpoint;
  /// Why an output can no longer be written; empty while all can. Training then ends in order after
  /// an iteration, as where a signal asks for it.
  std::function<std::string()> lost_output = [] { return std::string(); };
};

/// Trains on this rank's share of the global batch, from fresh parameters or from a checkpoint.
/// `program` is the iteration without a schedule, `schedule` the first one. The schedule may change
/// between iterations, on all ranks at once (TrainOptions::replan); experts that get other homes
/// are then moved. All ranks throw together: NotFinite where a loss is not finite, with the
/// parameters still those that gave it, or the norm of the gradients, with parameters that were
/// updated with it; Stopped after the iteration or held-out batch in which a signal asked any rank
/// to end, and LostOutput after the one that follows the loss of an output, with a checkpoint where
/// there are to be any; CheckpointError where one cannot be written or read.
void train(const Model& model, const Program& program, Schedule schedule, const Corpus& corpus,
           const Groups& groups, Backend& backend, Communicator& world,
           const std::vector<RankInfo>& ranks, const TrainOptions& options,
           const TrainObserver& observer);

}  // namespace moe
