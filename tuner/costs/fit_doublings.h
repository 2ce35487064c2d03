#pragma once

#include <span>
#include <string>

#include "tuner/costs/fit.h"

namespace tuner {

/// The curve of a shape of an op, of which a training has few sizes: fit_line, and for each doubling
/// of the units per call that has samples a point, the median of their sizes as far off the line as
/// the median of their times. One point more at a quarter of the first size and one at four times the
/// last, as far off the line as these: products of middle size run faster than small ones, and than
/// those that no cache holds. Where all samples lie within one doubling there are no points.
///   [MPMoE and Lancet interpolate sizes, too]
/// Throws as fit_line.
LinearFit fit_doublings(std::span<const Sample> samples, std::string unit);

}  // namespace tuner
