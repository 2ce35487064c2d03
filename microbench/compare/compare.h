#pragma once

#include <string>
#include <vector>

#include "db/measurement_samples.h"
#include "microbench/compare/rank_test.h"

namespace microbench {

enum class Verdict { faster, slower, within_noise };
std::string name_of(Verdict verdict);

/// A case that both runs have measured: the same op, device, dtype, ranks, size and parameters.
struct ComparedCase {
  db::Measurement before, after;
  RatioInterval ratio;  ///< seconds after over seconds before
  double p = 1;         ///< that chance alone makes such a difference, corrected for all cases
  Verdict verdict = Verdict::within_noise;
};

/// What two runs have in common.
struct Comparison {
  std::vector<ComparedCase> cases;          ///< in the order of the run before
  RatioInterval all;                        ///< the median of the ratios of all cases
  Verdict verdict = Verdict::within_noise;  ///< of all cases together
  /// How much cases differ from run to run: the standard deviation of the ratios, as their median
  /// deviation tells; 0 where there are fewer than kFewestForSpread.
  double spread = 0;
  int only_before = 0, only_after = 0;  ///< cases that one run has
  int without_samples = 0;              ///< pairs of which one has no stored samples

  int count(Verdict of) const;
  bool has_regressed() const;
};

/// A case is slower, or faster, where its samples differ in their ranks (p below kSignificant after
/// Holm's correction), its ratio is more than 1 + least, and beyond spreads_of_noise() times the
/// spread of the cases: runs differ by more than the samples within one. All cases together are slower
/// where the interval of their median ratio lies above 1 and the ratio above 1 + least. A case that a run
/// measured several times is compared by its last row.
Comparison compare(const std::vector<db::SampledMeasurement>& before,
                   const std::vector<db::SampledMeasurement>& after, double least);

/// Whether rows with samples have the case of this row.
bool has_case(const std::vector<db::SampledMeasurement>& rows, const db::Measurement& row);

inline constexpr double kSignificant = 0.05;
/// How many times their spread `cases` ratios may deviate by chance: more where these are few, since
/// the spread is then hardly known.
double spreads_of_noise(std::size_t cases);
inline constexpr std::size_t kFewestForSpread = 5;

}  // namespace microbench
