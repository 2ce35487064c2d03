#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "moe/model/model.h"
#include "tuner/costs/cluster.h"
#include "tuner/search/search.h"

namespace tuner {

/// A setup that a search found, with the figures that its table has.
struct FoundRow {
  std::vector<std::string> settings;
  int ranks = 0;
  std::string options;  ///< of moe-train: model, settings, ranks and setup
  int place = 1;        ///< by predicted time, of one number of ranks and settings
  FoundSetup found;
  double tokens_per_s = 0;
  std::optional<double> peak_share;
  std::int64_t memory_bytes = 0;  ///< of a rank; 0: nobody said it
};

/// "one_f_one_b"; "sequential" where the schedule has no order of micro-batches.
std::string order_of(const FoundSetup& found);

/// Stores them as a run of kind "search", in one transaction, and returns its number. Each row has
/// `swept`, of its settings those of keys that take several values.
std::int64_t store_search(db::Connection& connection, const std::vector<FoundRow>& rows,
                          const std::vector<std::vector<std::string>>& swept,
                          const moe::Model& model, const Cluster& cluster, int argc, char** argv);

}  // namespace tuner
