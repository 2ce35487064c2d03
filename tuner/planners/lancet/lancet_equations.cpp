#include "tuner/planners/lancet/lancet_equations.h"

#include <algorithm>
#include <limits>

namespace tuner {

double pipelined_s(std::span<const PipelineStage> stages, int parts) {
  std::vector<double> ready_s(static_cast<std::size_t>(parts), 0);  // by part
  double computed_s = 0, exchanged_s = 0;
  for (const PipelineStage& stage : stages) {
    for (double& ready : ready_s) {
      ready = computed_s = std::max(computed_s, ready) + stage.compute_s;
      if (stage.exchange_s > 0)
        ready = exchanged_s = std::max(exchanged_s, ready) + stage.exchange_s;
    }
  }
  return std::max(computed_s, exchanged_s);
}

std::vector<InstructionRange> best_ranges(
    int count, std::span<const int> parts,
    const std::function<double(int first, int end, int parts)>& price) {
  std::vector<double> best_s(static_cast<std::size_t>(count) + 1,
                             std::numeric_limits<double>::infinity());
  std::vector<InstructionRange> last(static_cast<std::size_t>(count) + 1);
  best_s[0] = 0;
  for (int end = 1; end <= count; ++end) {
    const auto n = static_cast<std::size_t>(end);
    const auto look = [&](int first, int k) {
      const double seconds = best_s[first] + price(first, end, k);
      if (seconds < best_s[n]) {
        best_s[n] = seconds;
        last[n] = {first, end, k};
      }
    };
    for (int first = 0; first < end; ++first) look(first, 1);
    for (const int k : parts) {
      for (int first = 0; first < end; ++first) look(first, k);
    }
  }
  std::vector<InstructionRange> ranges;
  for (int end = count; end > 0; end = ranges.back().first) {
    ranges.push_back(last[end]);
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace tuner
