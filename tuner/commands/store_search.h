#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "tuner/costs/cluster.h"
#include "tuner/search/search.h"

namespace tuner {

/// A setup that a search found.
struct FoundRow {
  std::vector<std::string> settings;
  std::string options;  ///< of moe-train: model, settings, ranks and setup
  moe::Schedule schedule;
  db::PredictedSetup figures;  ///< as they are printed and stored
};

/// What was found of a setup. Its run and schedule are those that store_search() gives; ranks,
/// settings, place, peak_share and memory_limit_bytes are the caller's.
db::PredictedSetup figures_of(const FoundSetup& found);

/// Stores them as a run of kind "search", in one transaction, and returns its number.
std::int64_t store_search(db::Connection& connection, const std::vector<FoundRow>& rows,
                          const moe::Model& model, const Cluster& cluster, int argc, char** argv);

}  // namespace tuner
