#include "tuner/planners/mpmoe/performance_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::mpmoe {
namespace {

/// True for a single buffer that chunks take in turn.
bool is_single_buffer(const moe::Tensor& tensor) {
  return tensor.windows > 1 && tensor.window_step == 1;
}

bool uses_single_buffer(const moe::Program& program, const moe::Op& op) {
  const auto single = [&](const moe::Use& use) {
    return is_single_buffer(program.tensors[use.tensor]);
  };
  return std::any_of(op.reads.begin(), op.reads.end(), single) ||
         std::any_of(op.writes.begin(), op.writes.end(), single);
}

struct Pipeline {
  int n = 1;
  PartitionTimes sums;
  int returned = -1;  ///< chunk whose R came last
  int copied = -1;    ///< chunk whose single buffer was copied last
};

void add(Pipeline& pipeline, const moe::Program& program, const moe::Op& op, double seconds) {
  PartitionTimes& sums = pipeline.sums;
  const moe::Slice share = moe::share_of(op);
  pipeline.n = share.count;
  switch (moe::facts_of(op).activity) {
    case moe::Activity::communication:
      if (moe::direction_of(op) == moe::Direction::combine) {
        sums.back += seconds;
        pipeline.returned = share.index;
      } else {
        sums.send += seconds;
      }
      return;
    case moe::Activity::copy:
      sums.copy += seconds;
      if (uses_single_buffer(program, op)) {
        sums.waited_copy += seconds;
        pipeline.copied = share.index;
      }
      return;
    case moe::Activity::computation:
      sums.compute += seconds;
      if (share.index == pipeline.returned) sums.trailing += seconds;
      // In backward the next chunk is copied, and its work waits for the copy.
      if (op.phase == moe::Phase::forward && share.index == pipeline.copied) {
        sums.beside_waited += seconds;
      }
      return;
  }
}

PartitionTimes divided(PartitionTimes sums, int n) {
  for (double* time : {&sums.send, &sums.compute, &sums.back, &sums.copy, &sums.waited_copy,
                       &sums.beside_waited, &sums.trailing}) {
    *time /= n;
  }
  return sums;
}

}  // namespace

double phase_s(const Interference& interference, double comm, double comp, double mem) {
  // Communication counts as inter-node: the paper has one stream for all of it.
  const std::array work{std::pair{Occupation::inter_node, comm},
                        std::pair{Occupation::computation, comp}, std::pair{Occupation::copy, mem}};
  double longest = 0;
  for (const auto& [y, seconds] : work) {
    Company others{};
    for (const auto& [x, busy_s] : work) {
      others[static_cast<std::size_t>(x)] = x != y && busy_s > 0;
    }
    longest = std::max(longest, seconds / speed_beside(interference, y, others));
  }
  return longest;
}

double pipeline_s(const Interference& interference, Copies copies, int n,
                  const PartitionTimes& times) {
  if (n < 1) throw std::invalid_argument(fmt::format("mpmoe: {} partitions", n));
  const bool after = copies == Copies::after;
  const PartitionTimes& t = times;
  const double before_back = t.compute - t.trailing;
  const double waited = std::max(t.waited_copy - t.beside_waited, 0.0);
  const auto phase = [&](double comm, double comp, double mem) {
    return phase_s(interference, comm, comp, mem);
  };
  const double first = phase(t.send, 0, after ? 0 : t.copy);
  const double last = phase(t.back, t.trailing, after ? waited : 0);
  if (n == 1) {
    return first + phase(0, before_back, after ? t.copy - t.waited_copy : 0) + last;
  }
  const double saturating = phase(t.send, t.compute, after ? t.copy - t.waited_copy : t.copy);
  const double saturated = phase(t.send + t.back, t.compute + waited, t.copy);
  const double melting = phase(t.back, before_back + waited, after ? t.copy : 0);
  return first + saturating + (n - 2) * saturated + melting + last;
}

double modelled_iteration_s(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, alone_s] = timed(situation, schedule);
  std::map<PipelineOf, Pipeline> pipelines;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (!belongs_to_pipeline(program, op)) continue;
    add(pipelines[{moe::routed_layer(op), op.phase}], program, op, alone_s[i]);
  }
  double total_s = outside_pipelines_s(program, alone_s);
  for (const auto& [where, pipeline] : pipelines) {
    const Copies copies = where.second == moe::Phase::forward ? Copies::after : Copies::ahead;
    total_s += pipeline_s(situation.costs.interference, copies, pipeline.n,
                          divided(pipeline.sums, pipeline.n));
  }
  return total_s;
}

}  // namespace tuner::mpmoe
