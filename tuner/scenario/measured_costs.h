#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/costs/cluster.h"

/// The costs and the machine that a database has measured: `--cluster measured`.
namespace tuner {

/// The model and layout for which costs are wanted.
struct CostsWanted {
  std::string model_json;    ///< moe::to_json
  std::optional<int> ranks;  ///< the number of ranks; empty: any number
  std::string layout;        ///< the layout as a person writes it
  /// Of several machines and networks, the one whose text has this in it (measured_place.h). "":
  /// the only one, or the one that this process runs on.
  std::string place = {};
  std::string model = {};  ///< as a person writes it, for messages
  /// Between the ranks; empty: that of this process (db::this_network).
  std::string network = {};
};

struct MeasuredCosts {
  CostedCluster costed;
  /// Lines for a person: the costs are of another layout, were measured elsewhere, or are these of
  /// several fits.
  std::vector<std::string> remarks;
  /// Whether it was measured how many network cards a node has. Else ranks of a node share one.
  bool knows_cards = true;
};

/// The newest profile of a study of this model and number of ranks, with the same layout if there
/// is one. Without such a study, the fits of `moe-tune fit` that measured_fits.h chooses. Throws
/// moe::InputError where the database has neither, and where it has them of several machines or
/// networks and none of these is meant (chosen_place), db::Error.
MeasuredCosts measured_costs(const std::string& database, const CostsWanted& wanted);

/// True of "measured", and of "measured:PLACE".
bool is_measured_cluster(const std::string& cluster);

}  // namespace tuner
