#include "tuner/simulate/chained.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tuner/simulate/simulate.h"

namespace tuner {
namespace {

template <class T>
std::vector<T> repeated(const std::vector<T>& once, int times) {
  std::vector<T> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
  return all;
}

/// When the last op of the first `ops` has ended on any rank.
double end_of_first(const moe::Timeline& timeline, std::size_t ops) {
  double end = 0;
  for (const auto& spans : timeline.ranks) {
    for (const moe::OpSpan& span : spans) {
      if (static_cast<std::size_t>(span.op) < ops)
        end = std::max(end, span.start_s + span.duration_s);
    }
  }
  return end;
}

}  // namespace

ChainedIterations simulate_chained(const moe::Program& program, const ProgramCosts& costs,
                                   const CostModel& model, const Cluster& cluster, int iterations) {
  if (iterations < 3 || iterations % 2 == 0) {
    throw std::invalid_argument(
        fmt::format("simulate_chained: {} iterations: expected an odd number from 3", iterations));
  }
  moe::Program chained = program;
  chained.ops = repeated(program.ops, iterations);
  ProgramCosts of_all = costs;
  of_all.ops = repeated(costs.ops, iterations);
  const moe::Timeline timeline = simulate(chained, of_all, model, cluster);
  const auto until = [&](int count) {
    return end_of_first(timeline, static_cast<std::size_t>(count) * program.ops.size());
  };
  return {timeline.duration_s, until(iterations / 2 + 1) - until(iterations / 2)};
}

}  // namespace tuner
