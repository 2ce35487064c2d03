#pragma once

#include <map>
#include <span>
#include <vector>

/// What deviation.h knows of moments.
namespace tuner {

/// Seconds of an iteration of one trial, by number of the repeat.
using Repeats = std::map<int, double>;

/// Terms of repeats, in groups between which no chain of common trials leads. Only terms of one
/// group can be compared.
using RepeatTerms = std::vector<std::vector<double>>;
/// The logarithm of a time is the sum of a term of the trial, one of the repeat, and noise: those
/// of repeats, fitted by medians.
RepeatTerms repeat_terms(std::span<const Repeats> trials);

}  // namespace tuner
