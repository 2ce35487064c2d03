#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/load_views.h"

/// The setups that searches found. No drawing here.
namespace viewer {

/// Setups of one search, number of ranks and settings, the fastest first.
using SetupGroup = std::span<const db::SetupOverview>;

/// The groups of load_setup_overviews(), in its order.
std::vector<SetupGroup> setup_groups(std::span<const db::SetupOverview> setups);

/// "run 12: mixtral-7b, 32 ranks of dgx-h100, training.precision=bf16"
std::string group_name(SetupGroup group);

/// "ep=4, 2 micro-batches, sharded optimizer, 8 blocks restored, 3 of them whole"
std::string setup_name(const db::PredictedSetup& setup);

}  // namespace viewer
