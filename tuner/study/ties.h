#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Tells the trials of a study apart by their repeats.
///
/// The trials of a round take turns in one training, so that repeat j of one met the machine as
/// repeat j of another did. Where each was trained alone, they met it within minutes of each other:
/// s is then larger.
/// With the logarithms y_ij of the times this is a randomized block design, with repeats as blocks:
///   y_ij = trial_i + repeat_j + noise, of one relative deviation s for all trials of the study
///   s^2 = sum of squared residuals / (measurements - trials - repeats + groups), where a group is
///         of trials between which a chain of common repeats leads
/// It is fitted by least squares. Two trials are told apart where the difference d of their terms
/// is significant at 95%: |d| > t(0.975) s sqrt(v), where v s^2 is the variance of d. Where
/// both have the same n repeats, v is 2 / n. Else trials that were trained beside both tell of the
/// difference too, also where the two have no repeat in common.
/// [Montgomery, Design and Analysis of Experiments, 4.1 and 4.4, and Fisher's least significant
/// difference]
/// Because s is pooled over all trials, two or three repeats are enough. A machine that drifts does
/// not matter, since each repeat is a block. A disturbed repeat makes s larger: trials are then
/// called tied, and not wrongly told apart.
namespace tuner {

/// Seconds of an iteration of one trial, by number of the repeat.
using Repeats = std::map<int, double>;
/// Seconds of the iterations of one trial, by number of the repeat and turn in it.
using Turns = std::map<std::pair<int, int>, double>;

/// Each trial's repeats, without what the machine did to single turns: in each repeat alone, trials
/// and turns are fitted as in comparable_seconds(). Only ratios within a repeat have a meaning.
/// Between the first two repeats of 26 stored studies on a noisy machine, a trial's time over the
/// mean of all changed by 3.1% (root mean square), that of medians of iterations by 4.1%.
std::vector<Repeats> repeats_of(std::span<const Turns> trials);

/// Of all turns; at least one.
double median_s(const Turns& turns);

/// The relative standard deviation of a repeat, and its degrees of freedom.
struct Noise {
  double deviation = 0;
  int degrees = 0;
};
/// What the repeats tell of the differences between trials, by the model above.
struct Differences {
  /// None where there are not more measurements than coefficients, as with one repeat, or with one
  /// trial.
  std::optional<Noise> noise;
  /// [a][b]: trial_a - trial_b. It has no meaning where its variance is infinite.
  std::vector<std::vector<double>> estimate;
  /// [a][b]: the variance of the estimate, over s^2. Infinite where no chain of common repeats
  /// leads from one trial to the other.
  std::vector<std::vector<double>> variance;
};
Differences differences_of(std::span<const Repeats> trials);

/// The least relative difference that is significant where its variance is `variance` s^2.
double least_difference(const Noise& noise, double variance);

/// False where the repeats do not tell which of two trials is faster.
bool told_apart(const Differences& differences, std::size_t a, std::size_t b);

/// For each trial, the trials that it is not told apart from, fastest first. All are empty where
/// the noise is not known. `differences` are those of the trials.
std::vector<std::vector<std::size_t>> ties(std::span<const Repeats> trials,
                                           const Differences& differences);

/// Seconds of an iteration of each trial, without what the machine did to its repeats. A trial that
/// was measured only while the machine was slow can so be compared with one that was measured only
/// while it was fast, where turns of others connect the two. With y_ij as above, but turns as
/// blocks, trial_i and turn_j are fitted by medians, one after the other until nothing changes.
/// Disturbed iterations then do not matter [Tukey, Exploratory Data Analysis, chapter 11, median
/// polish]. `reference` keeps the median of its own turns, and the others are in proportion to it.
/// Infinite for a trial without turns. Throws std::invalid_argument where the reference has none.
std::vector<double> comparable_seconds(std::span<const Turns> trials, std::size_t reference);

/// Terms of repeats, in groups between which no chain of common trials leads. Only terms of one
/// group can be compared.
using RepeatTerms = std::vector<std::vector<double>>;
/// The repeat_j of the model above, fitted by medians.
RepeatTerms repeat_terms(std::span<const Repeats> trials);

/// The trial with the least trial_i, fitted by medians to its repeats. Throws
/// std::invalid_argument where none has a repeat.
std::size_t fastest(std::span<const Repeats> trials);

}  // namespace tuner
