#pragma once

#include <optional>
#include <vector>

#include "moe/rows/expert_placement.h"
#include "tuner/planners/placement/placed_layer.h"

namespace tuner {

struct GreedyOptions {
  Transfers transfers = Transfers::blocking;
  /// a of Eq. 7, "a regulable coefficient"; the paper gives no value. Ours: a tenth of an expert's
  /// mean load.
  double balance = 0.1;
  /// n, the number of devices that no expert is sent to. The paper's search takes it as given; the
  /// text has no value. Empty: the best of those that leave 1, 2, 4, ... and all other devices
  /// (ours).
  std::optional<int> left_out = {};
  /// Also tries to give every expert as many devices as pay for it alone, none among them (ours).
  bool each_apart = false;
  /// Sends experts to devices without an input for them too, as a broadcast does. left_out is then
  /// 1 where every expert has a device without inputs, else 0. [Pro-Prophet, its authors' code]
  bool to_all = false;
};

struct GreedyPlacement {
  moe::ExpertPlacement placement;
  double seconds = 0;    ///< time of the layer with this placement
  double at_home_s = 0;  ///< time with all experts at home: never less
  int left_out = 0;      ///< the n that found it; with each_apart of the expert on most devices
};

/// Pro-Prophet's search for one layer [Pro-Prophet Alg. 1, reconstructed]. It starts with all
/// experts at home. Until the loads are balanced it takes the expert with most inputs of those not
/// taken yet. It sends it to the devices that hold most of its inputs, all but the n with fewest.
/// It keeps the best placement that it has seen, each by the route that takes less (ours). A device
/// without an input for an expert never gets it (the paper's Fig. 6). A search ends early where all
/// that follows must cost more than the best; the result is the same. It takes O(D^2) for each
/// expert that is tried, vectorised: `planning_time` measures it. Throws std::invalid_argument
/// unless 0 <= left_out <= D - 1.
GreedyPlacement greedy_placement(const GroupedRows& rows, const ProProphetCosts& costs,
                                 const GreedyOptions& options);

}  // namespace tuner
