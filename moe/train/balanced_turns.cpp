#include "moe/train/balanced_turns.h"

#include <vector>

#include "db/console/statistics.h"
#include "moe/model/iteration.h"

namespace moe {

BalancedTurns take_balanced_turns(Runner& runner, const Program& scheduled, int steps,
                                  const std::function<double()>& run) {
  const Program balanced = with_even_routing(scheduled);
  std::vector<double> usual_s, balanced_s;
  for (int i = 0; i <= steps; ++i) {
    runner.reschedule(balanced);
    const double even_s = run();
    runner.reschedule(scheduled);
    const double as_is_s = run();
    if (i == 0) continue;  // the first ones touch memory for the first time
    balanced_s.push_back(even_s);
    usual_s.push_back(as_is_s);
  }
  return {db::median(usual_s), db::median(balanced_s)};
}

}  // namespace moe
