#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/records.h"
#include "tuner/costs/cluster.h"

/// Fits as rows of the database, and the costs that rows tell.
namespace tuner {

/// A fit as a row of the database, and back.
db::Fit to_record(const std::string& key, const LinearFit& fit, const std::string& device,
                  int ranks);
LinearFit from_record(const db::Fit& record);
/// The fits of `now` that are not those of `before`, as rows.
std::vector<db::Fit> changed_fits(const CostModel& before, const CostModel& now, int ranks);

/// A machine of this shape with these costs. The bandwidth of a link is the highest that a
/// collective reached on it.
CostedCluster measured_cluster(CostModel costs, std::string name, int nodes, int ranks_per_node);

/// The costs of `device` from stored fits, those of interference included; the first of several
/// fits for one key counts.
CostModel costs_of_records(std::span<const db::Fit> fits, std::string device);

}  // namespace tuner
