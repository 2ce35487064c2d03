#include "tuner/planners/situation/sharded_optimizer.h"

#include <string>
#include <variant>

namespace tuner {
namespace {

bool shards(const moe::Schedule& schedule) {
  return !moe::decisions_of<moe::ShardOptimizer>(schedule).empty();
}

}  // namespace

std::optional<moe::Schedule> with_sharded_optimizer(const moe::Program& program,
                                                    const moe::Schedule& schedule) {
  if (shards(schedule)) return std::nullopt;
  moe::Schedule sharded{schedule.planner, {moe::ShardOptimizer{}}};
  for (const moe::Decision& decision : schedule.decisions) {
    const auto* placing = std::get_if<moe::PlaceAllReduce>(&decision);
    const auto* assignment = std::get_if<moe::StreamAssignment>(&decision);
    if (std::holds_alternative<moe::SliceAllReduce>(decision)) continue;
    if (placing != nullptr && placing->slice > 0) continue;
    if (assignment != nullptr && assignment->kind == moe::AllReduce::facts.name) {
      for (const auto kind : {moe::ReduceShares::facts.name, moe::GatherShares::facts.name}) {
        sharded.decisions.push_back(moe::StreamAssignment{std::string(kind), assignment->stream});
      }
      continue;
    }
    sharded.decisions.push_back(decision);
  }
  if (moe::is_legal(program, sharded)) return sharded;
  std::erase_if(sharded.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::PlaceAllReduce>(decision);
  });
  if (!moe::is_legal(program, sharded)) return std::nullopt;
  return sharded;
}

}  // namespace tuner
