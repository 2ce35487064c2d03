#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "db/connection.h"
#include "db/measurement_samples.h"
#include "db/number_range.h"
#include "db/records.h"
#include "db/run_links.h"

namespace db {

/// What the numbers of rows may be, given what the database says of the run, timeline or study that
/// they are of. Every function throws WrongValue, and asks the database once for each run,
/// timeline and layer.
class RowBounds {
 public:
  explicit RowBounds(const Connection& connection) : connection_(&connection) {}

  /// Of most rows nothing but their own ranges is known.
  template <class Record>
  void check(const Record&) {}
  void check(const RunRank& row);
  void check(const RunLink& row);
  void check(const MeasurementRank& row);
  void check(const Load& row);
  void check(const RankLoad& row);
  void check(const ExpertPlace& row);
  void check(const RankGroup& row);
  void check(const Allocation& row);
  void check(const Span& row);
  void check(const Balance& row);
  /// Its lists of runs.
  void check(const Study& row);

  /// The ranks that a timeline may have spans of: those of its run, else those of its trial's
  /// study, else kMostRanks.
  int ranks_of_timeline(std::int64_t timeline_id);

 private:
  struct Bound {
    int below = 0;
    std::string why;  ///< "run 3 has 2 ranks"; "" where nothing is known
  };
  const Bound& ranks_of_run(std::int64_t run_id);
  const Bound& ranks_of_measurement(std::int64_t measurement_id);
  const Bound& timeline_bound(std::int64_t timeline_id);
  const Bound& experts_of(std::int64_t run_id, int iteration, int layer);
  void expect_below(const Bound& bound, const char* table, const char* column, std::int64_t number,
                    const char* key, std::int64_t of) const;

  const Connection* connection_;
  std::map<std::int64_t, Bound> of_run_, of_timeline_, of_measurement_;
  std::tuple<std::int64_t, int, int> last_layer_{-1, -1, -1};  ///< rows come layer by layer
  Bound of_last_layer_;
};

}  // namespace db
