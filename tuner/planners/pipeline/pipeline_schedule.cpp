#include "tuner/planners/pipeline/pipeline_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

bool has_kind(const moe::Program& program, std::string_view kind) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [&](const moe::Op& op) { return moe::kind_name(op) == kind; });
}

/// The index of the first op of the update. Gradients that are all-reduced before it may run beside
/// other ops.
std::size_t end_of_backward(const moe::Program& program) {
  std::size_t end = program.ops.size();
  while (end > 0 && moe::comes_once(program.ops[end - 1])) --end;
  return end;
}

}  // namespace

double outside_pipelines_s(const moe::Program& program, const std::vector<double>& alone_s) {
  double total_s = 0, dense_s = 0, reduced_s = 0;
  bool inside = false;  // between a dispatch and its combine
  const auto close = [&] {
    total_s += std::max(dense_s, reduced_s);
    dense_s = reduced_s = 0;
  };
  const std::size_t backward_ends = end_of_backward(program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::direction_of(op) == moe::Direction::dispatch) {
      close();
      inside = true;
    }
    if (moe::direction_of(op) == moe::Direction::combine) inside = false;
    if (belongs_to_pipeline(program, op)) continue;
    const bool reduces = moe::reduces_gradients(op);
    if (reduces && inside) continue;  // it belongs to the pipeline
    if (i == backward_ends) close();
    const bool apart = reduces && op.stream != moe::Stream::compute && i < backward_ends;
    (apart ? reduced_s : dense_s) += alone_s[i];
  }
  close();
  return total_s;
}

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

moe::Schedule pipeline_with_gradients(const moe::Program& program, std::string planner,
                                      Degrees degrees, InNode in_node) {
  moe::Schedule schedule = pipeline_schedule(program, std::move(planner), degrees, in_node);
  for (const char* kind : {"all_reduce", "reduce_shares", "gather_shares"}) {
    if (!has_kind(program, kind)) continue;
    schedule.decisions.push_back(moe::StreamAssignment{kind, moe::Stream::inter_node});
  }
  return schedule;
}

Degrees degrees_of(const moe::Schedule& schedule) {
  std::map<int, Degrees> of_layer;
  for (const auto& range : moe::decisions_of<moe::PartitionRange>(schedule)) {
    of_layer[range.layer] = {range.parts, range.parts};
  }
  for (const auto& split : moe::decisions_of<moe::PipelineSplit>(schedule)) {
    Degrees& degrees = of_layer[split.layer];
    (split.phase == moe::Phase::forward ? degrees.forward : degrees.backward) = split.chunks;
  }
  return of_layer.empty() ? Degrees{} : of_layer.begin()->second;
}

std::string degrees_json(const moe::Schedule& schedule) {
  const Degrees degrees = degrees_of(schedule);
  return fmt::format(R"({{"forward_chunks": {}, "backward_chunks": {}}})", degrees.forward,
                     degrees.backward);
}

double pipelined_iteration_s(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, alone_s] = timed(situation, schedule);
  double total_s = 0;
  for (const auto& [where, times] : pipeline_times(program, alone_s)) {
    total_s += moe_phase_s(times.chunks, times.chunk, times.gar_s);
  }
  return total_s + outside_pipelines_s(program, alone_s);
}

}  // namespace tuner
