#pragma once

#include <cstdint>

#include "db/measurement_samples.h"

namespace microbench {

/// A measured all-reduce of so many bytes on two ranks, without samples.
inline db::SampledMeasurement all_reduce_row(std::int64_t bytes) {
  db::SampledMeasurement row;
  row.measurement.op = "all_reduce";
  row.measurement.device = "cpu";
  row.measurement.dtype = "f32";
  row.measurement.ranks = 2;
  row.measurement.bytes = bytes;
  row.measurement.parameters_json = "{}";
  return row;
}

}  // namespace microbench
