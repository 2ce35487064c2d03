#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/ranks.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/run/runner.h"
#include "moe/train/data.h"

namespace moe {

struct TrainOptions {
  int steps = 100;
  int evaluate_every = 0;    ///< iterations between held-out losses; 0 = only after the last
  int evaluate_batches = 4;  ///< global batches per held-out loss
  RunOptions run;
};

/// One iteration over all ranks, as rank 0 reports it.
struct StepReport {
  int iteration = 0;  ///< from 1
  double loss = 0;
  double auxiliary_loss = 0;
  std::optional<double> heldout_loss;
  double duration_s = 0;  ///< first begin to last end of any rank, on rank 0's clock
  std::int64_t dropped = 0;
  Routing routing;
  Timeline timeline;                              ///< empty where spans are not recorded
  std::vector<std::int64_t> planned_peak_bytes;   ///< by rank
  std::vector<std::int64_t> measured_peak_bytes;  ///< by rank
};

/// Trains from fresh parameters on this rank's share of the global batch; `observe` is called on
/// rank 0 after every iteration. `scheduled` is the iteration as apply() left it.
void train(const Model& model, const Program& scheduled, const Corpus& corpus, const Groups& groups,
           Backend& backend, Communicator& world, const std::vector<RankInfo>& ranks,
           const TrainOptions& options, const std::function<void(const StepReport&)>& observe);

}  // namespace moe
