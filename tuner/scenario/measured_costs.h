#pragma once

#include <optional>
#include <string>

#include "tuner/costs/cluster.h"

/// The costs and the machine that a database has measured: `--cluster measured`.
namespace tuner {

/// The model and layout that costs are wanted for.
struct CostsWanted {
  std::string model_json;    ///< moe::to_json
  std::optional<int> ranks;  ///< the number of ranks; empty: any number
  std::string layout;        ///< the layout as a person writes it
};

struct MeasuredCosts {
  CostedCluster costed;
  std::string remark;  ///< a line for a person where they were measured under another layout
};

/// The newest profile of a study of this model and number of ranks, of the same layout if there is
/// one. Without such a study the newest fits of moe-tune fit; of a collective that was measured on
/// several numbers of ranks the nearest one. Throws moe::InputError where the database has neither,
/// db::Error.
MeasuredCosts measured_costs(const std::string& database, const CostsWanted& wanted);

}  // namespace tuner
