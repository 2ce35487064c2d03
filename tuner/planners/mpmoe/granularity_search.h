#pragma once

#include <functional>
#include <map>
#include <utility>

namespace tuner::mpmoe {

/// What MPMoE's search has learned of one strategy: pass it on from batch to batch. [MPMoE Alg. 1,
/// printed]
///
/// Its listing starts from {2: (0, 1), 8: (inf, inf)}, its text from {1: (0, 1), ...}: the scope
/// here is 1 to `most`.
struct GranularitySearch {
  /// n -> the least and the largest B that it was found best for; both rise with n.
  std::map<int, std::pair<double, double>> ranges;
  std::map<double, int> found;  ///< B -> n
  explicit GranularitySearch(int most = 8);
};

/// Seconds with n partitions, measured or predicted.
using Profile = std::function<double(int n)>;

/// The best of lowest <= n <= highest, which are profiled one after the other until one is slower
/// than the one before it; of equals the least. Where there is but one, nothing is profiled.
int until_it_rises(int lowest, int highest, const Profile& profile);

/// The best number of partitions for a batch of B tokens. As n rises with B, only the n between
/// those of the neighbouring ranges are profiled, and as time over n is like a parabola, only until
/// it rises. [MPMoE Alg. 1; searchBestGran in words]
int best_partitions(GranularitySearch& search, double B, const Profile& profile);

}  // namespace tuner::mpmoe
