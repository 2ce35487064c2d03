#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/load_views.h"
#include "db/records.h"

/// What fits were fitted to, and how activities slow each other down. No drawing here.
namespace viewer {

/// A size in the fit's unit and the time that it took. Of several products in one call it is one.
struct FitSample {
  double units = 0;
  double seconds = 0;
  bool is_outlier = false;  ///< the fit leaves it out
};

/// Whether a fit is of ops of this kind, in any precision: "linear_bf16[8 rows, 4x6]" is of "linear".
bool is_of_kind(const db::Fit& fit, const std::string& kind);

/// The rows of moe-bench's sweeps that a fit of them is of: of its op, device, precision and ranks,
/// on its machine, link and network, in its unit, and from before it. Bytes of a collective are
/// those that leave a rank, as in the fit. `places` are those of the rows' runs and of the fit's.
std::vector<FitSample> measured_samples(const db::Fit& fit,
                                        const std::vector<db::Measurement>& measurements,
                                        const std::map<std::int64_t, db::RunPlace>& places);

/// The measured spans that a study's fit is of: those of its kind of op and link in the study's
/// profile, without waiting; the median of each size. Empty for fits of others. Throws db::Error.
std::vector<FitSample> profile_samples(const db::Connection& connection, const db::Fit& fit);

/// The share of its speed that each activity keeps while another runs beside it.
struct InterferenceMatrix {
  std::vector<std::string> activities;
  /// [activity][beside]; none where it was not measured.
  std::vector<std::vector<std::optional<double>>> speed;
  std::string where;  ///< "node0, cpu, 2 ranks": all of it was measured there
};

/// Where interference was measured last: the newest measurement there of each pair, and of these
/// the one of the largest size.
InterferenceMatrix interference_matrix(const std::vector<db::Measurement>& measurements,
                                       const std::map<std::int64_t, db::RunPlace>& places);

}  // namespace viewer
