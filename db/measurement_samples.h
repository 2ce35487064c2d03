#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// What the samples of a measurement were: rows of tables of their own, since fits and charts read
/// measurements without them.
namespace db {

/// The samples of a measurement, in seconds of a call on the slowest rank.
struct MeasurementSamples {
  std::int64_t measurement_id = 0;
  double p95_s = 0;  ///< 95 of 100 samples take no longer
  /// [0.0011, 0.0012]: the samples in ascending order or, where they are more than kMostQuantiles,
  /// so many quantiles of them, evenly apart from the smallest to the largest.
  std::string quantiles_json;
};

/// The time that a rank took for the calls of a measurement.
struct MeasurementRank {
  std::int64_t measurement_id = 0;
  int rank = 0;
  double time_s = 0;  ///< median of its own samples
  double min_s = 0;
  double max_s = 0;
};

/// A measurement with all that is known of its samples; `quantiles` in ascending order, empty where
/// they are not known.
struct SampledMeasurement {
  Measurement measurement;
  std::vector<double> quantiles = {};
  double p95_s = 0;
  std::vector<MeasurementRank> ranks = {};  ///< by rank; empty where it is not known
};

/// Stores measurements with their samples and ranks, whose measurement_id is set here. Throws Error
/// as store.h says.
void insert(Connection&, const std::vector<SampledMeasurement>&);

/// The measurements of a run with quantiles, as they were stored; without ranks. Those without
/// stored samples have no quantiles. Throws Error.
std::vector<SampledMeasurement> load_sampled_measurements(const Connection&, std::int64_t run_id);

/// Throws Error.
std::vector<MeasurementRank> load_measurement_ranks(const Connection&, std::int64_t measurement_id);

}  // namespace db
