#pragma once

#include <functional>
#include <map>
#include <utility>

namespace tuner::mpmoe {

/// The results of MPMoE's search for one strategy, to be passed on from batch to batch. [MPMoE Alg.
/// 1, printed]
///
/// The listing starts from {2: (0, 1), 8: (inf, inf)}, the text from {1: (0, 1), ...}. Here the
/// scope is 1 to `most`.
struct GranularitySearch {
  /// n -> the least and the largest B that it was best for; both rise with n.
  std::map<int, std::pair<double, double>> ranges;
  std::map<double, int> found;  ///< B -> n
  explicit GranularitySearch(int most = 8);
};

/// Seconds with n partitions, measured or predicted.
using Profile = std::function<double(int n)>;

/// The best of lowest <= n <= highest. They are timed one after the other until one is slower than
/// the one before it. Equal times: the least n. A single one is not timed.
int until_it_rises(int lowest, int highest, const Profile& profile);

/// The authors' way through lowest <= n <= highest: both ends are timed, and from the better one it
/// goes on until nothing improves. Equal times: the lowest end. [MPMoE, its authors' code]
int from_the_better_end(int lowest, int highest, const Profile& profile);

/// The best number of partitions for a batch of B tokens. n rises with B, so only the n between
/// those of the neighbouring ranges are timed. Time over n is like a parabola, so the search ends
/// where it rises. [MPMoE Alg. 1; searchBestGran in words]
int best_partitions(GranularitySearch& search, double B, const Profile& profile);

}  // namespace tuner::mpmoe
