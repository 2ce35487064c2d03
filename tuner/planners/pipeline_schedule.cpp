#include "tuner/planners/pipeline_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/costs/op_costs.h"
#include "tuner/planners/pipemoe/pipemoe_equations.h"

namespace tuner {
namespace {

bool works_at_the_experts(const moe::Program& program, const moe::Op& op) {
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const moe::Use& use : *uses) {
      const moe::Tensor& tensor = program.tensors[static_cast<std::size_t>(use.tensor)];
      if (tensor.rows_are == moe::Rows::received || tensor.rows_are == moe::Rows::gathered) {
        return true;
      }
    }
  }
  return false;
}

bool has_kind(const moe::Program& program, std::string_view kind) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [&](const moe::Op& op) { return moe::kind_name(op) == kind; });
}

}  // namespace

std::vector<int> moe_layers(const moe::Program& program) {
  std::set<int> layers;
  for (const moe::Op& op : program.ops) {
    if (moe::is_all_to_all(op)) layers.insert(op.layer);
  }
  return {layers.begin(), layers.end()};
}

moe::Schedule pipeline_schedule(const moe::Program& program, std::string planner, Degrees degrees,
                                InNode in_node) {
  moe::Schedule schedule;
  schedule.planner = std::move(planner);
  for (const int layer : moe_layers(program)) {
    if (degrees.forward > 1) {
      schedule.decisions.push_back(moe::PipelineSplit{layer, moe::Phase::forward, degrees.forward});
    }
    if (degrees.backward > 1) {
      schedule.decisions.push_back(
          moe::PipelineSplit{layer, moe::Phase::backward, degrees.backward});
    }
  }
  const moe::Stream inside =
      in_node == InNode::beside ? moe::Stream::intra_node : moe::Stream::inter_node;
  for (const auto& [kind, stream] : {std::pair{"all_to_all", moe::Stream::inter_node},
                                     {"exchange_across_nodes", moe::Stream::inter_node},
                                     {"exchange_step", moe::Stream::inter_node},
                                     {"exchange_in_node", inside},
                                     {"gather_rows", inside},
                                     {"scatter_rows", inside}}) {
    if (has_kind(program, kind)) schedule.decisions.push_back(moe::StreamAssignment{kind, stream});
  }
  return schedule;
}

Degrees degrees_of(const moe::Schedule& schedule) {
  Degrees degrees;
  const auto splits = moe::decisions_of<moe::PipelineSplit>(schedule);
  for (auto split = splits.rbegin(); split != splits.rend(); ++split) {
    (split->phase == moe::Phase::forward ? degrees.forward : degrees.backward) = split->chunks;
  }
  return degrees;
}

Candidate pipeline_candidate(const moe::Program& program, std::string planner, Degrees degrees) {
  return {planner,
          fmt::format(R"({{"forward_chunks": {}, "backward_chunks": {}}})", degrees.forward,
                      degrees.backward),
          pipeline_schedule(program, planner, degrees)};
}

double pipelined_iteration_s(const Situation& situation, const moe::Schedule& schedule) {
  const moe::Program program = moe::apply(situation.program, schedule);
  const auto costs =
      op_costs(program, situation.groups, bind_all(program, situation.groups, situation.routing),
               situation.costs, situation.cluster);
  struct Pipeline {
    int chunks = 1;
    double exchange_s = 0;
    double expert_s = 0;
  };
  std::map<std::pair<moe::RoutedLayer, moe::Phase>, Pipeline> pipelines;
  double total_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    const double seconds = alone_seconds(costs[i], situation.groups, situation.cluster);
    // What ranks that share an expert exchange travels on the one stream of communication too.
    const bool of_experts = works_at_the_experts(program, op);
    const bool exchange = moe::is_all_to_all(op) || (of_experts && moe::is_communication(op));
    if (!exchange && !of_experts) {
      total_s += seconds;
      continue;
    }
    Pipeline& pipeline = pipelines[{moe::routed_layer(op), op.phase}];
    pipeline.chunks = op.chunk.count;
    (exchange ? pipeline.exchange_s : pipeline.expert_s) += seconds;
  }
  for (const auto& [where, pipeline] : pipelines) {
    // A dispatch and a combine for each chunk, in however many ops.
    const double t_a2a = pipeline.exchange_s / (2 * pipeline.chunks);
    total_s += pipelined_layer_s(pipeline.chunks, t_a2a, pipeline.expert_s / pipeline.chunks);
  }
  return total_s;
}

}  // namespace tuner
