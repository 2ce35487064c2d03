#include "tuner/planners/situation/within_memory.h"

#include <set>
#include <string>
#include <utility>
#include <variant>

#include "moe/errors.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

std::set<int> blocks_of(const moe::Program& program) {
  std::set<int> blocks;
  for (const moe::Op& op : program.ops) {
    if (op.layer >= 0) blocks.insert(op.layer);
  }
  return blocks;
}

}  // namespace

std::optional<moe::Schedule> with_sharded_optimizer(const moe::Program& program,
                                                    const moe::Schedule& schedule) {
  if (!moe::decisions_of<moe::ShardOptimizer>(schedule).empty()) return std::nullopt;
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

std::vector<moe::Schedule> lighter_schedules(const moe::Program& program,
                                             const moe::Schedule& schedule) {
  std::vector<moe::Schedule> lighter;
  auto sharded = with_sharded_optimizer(program, schedule);
  if (sharded) lighter.push_back(std::move(*sharded));
  moe::Schedule lightest = lighter.empty() ? schedule : lighter.back();
  for (const int block : blocks_of(program)) {
    moe::Schedule more = lightest;
    more.decisions.push_back(moe::RestoreBlock{block, moe::RestoreDense::recompute});
    if (!moe::is_legal(program, more)) continue;
    lighter.push_back(more);
    lightest = std::move(more);
  }
  return lighter;
}

bool fits_or_is_refused(const Situation& situation, const moe::Schedule& schedule) {
  if (situation.cluster.memory_bytes == 0) return true;
  try {
    return fits_memory(situation, moe::apply(situation.program, schedule));
  } catch (const moe::Refusal&) {
    return true;
  }
}

moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule) {
  if (fits_or_is_refused(situation, schedule)) return schedule;
  for (moe::Schedule& lighter : lighter_schedules(situation.program, schedule)) {
    if (fits_or_is_refused(situation, lighter)) return std::move(lighter);
  }
  return schedule;
}

}  // namespace tuner
