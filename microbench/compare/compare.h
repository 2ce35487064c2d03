#pragma once

#include <string>
#include <vector>

#include "db/measurement_samples.h"
#include "microbench/compare/rank_test.h"

namespace microbench {

/// `too_few_samples`: all samples of one run lie beyond all of the other, by more than the limit,
/// and they are too few to be told from chance.
enum class Verdict { faster, slower, within_noise, too_few_samples };
std::string name_of(Verdict verdict);

/// A case that both runs have measured: the same op, device, dtype, ranks, size and parameters.
struct ComparedCase {
  db::Measurement before, after;
  RatioInterval ratio;  ///< seconds after over seconds before
  double limit = 0;     ///< what its ratio may differ from 1 by chance, or is allowed to
  double p = 1;         ///< that chance alone makes such a difference, corrected for all cases
  Verdict verdict = Verdict::within_noise;
};

/// What two runs have in common.
struct Comparison {
  std::vector<ComparedCase> cases;          ///< in the order of the run before
  RatioInterval all;                        ///< the median of the ratios of all cases
  Verdict verdict = Verdict::within_noise;  ///< of all cases together
  int only_before = 0, only_after = 0;      ///< cases that one run has
  int without_samples = 0;                  ///< pairs of which one has no stored samples

  int count(Verdict of) const;
  bool has_regressed() const;
};

/// A case is slower, or faster, where its samples differ in their ranks (p below kSignificant after
/// Holm's correction), and its ratio by more than 1 + its limit: `least` or, where that is more,
/// its noise. Noise of a case is half the distance between the quartiles of its samples, over the
/// median, of both runs. From run to run cases differ by another multiple of that, so it is taken
/// as often as the ratios of all cases deviate from their median (the median of these deviations),
/// and that several times: 4 + 32 / cases. Of fewer than kFewestForSpread cases there is `least`
/// alone. All cases together are slower where the interval of their median ratio lies above 1 and
/// the ratio above 1 + least. A case that a run measured several times is compared by its last row.
Comparison compare(const std::vector<db::SampledMeasurement>& before,
                   const std::vector<db::SampledMeasurement>& after, double least);

/// Whether rows with samples have the case of this row.
bool has_case(const std::vector<db::SampledMeasurement>& rows, const db::Measurement& row);

inline constexpr double kSignificant = 0.05;
inline constexpr std::size_t kFewestForSpread = 5;

}  // namespace microbench
