#include "tuner/planners/mpmoe/granularity_search.h"

#include <algorithm>

namespace tuner::mpmoe {

int until_it_rises(int lowest, int highest, const Profile& profile) {
  int best = lowest;
  double best_s = lowest == highest ? 0 : profile(lowest), before_s = best_s;
  for (int n = lowest + 1; n <= highest; ++n) {
    const double seconds = profile(n);
    if (seconds > before_s) break;
    if (seconds < best_s) {
      best = n;
      best_s = seconds;
    }
    before_s = seconds;
  }
  return best;
}

int from_the_better_end(int lowest, int highest, const Profile& profile) {
  if (lowest == highest) return lowest;
  const double lowest_s = profile(lowest), highest_s = profile(highest);
  const bool up = lowest_s <= highest_s;
  int best = up ? lowest : highest;
  double best_s = std::min(lowest_s, highest_s);
  for (int n = best + (up ? 1 : -1); lowest < n && n < highest; n += up ? 1 : -1) {
    const double seconds = profile(n);
    if (seconds >= best_s) break;
    best = n;
    best_s = seconds;
  }
  return best;
}

}  // namespace tuner::mpmoe
