#include "tuner/planners/situation/within_memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "moe/errors.h"
#include "tuner/planners/situation/planning_progress.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

moe::Schedule with_blocks_restored(moe::Schedule schedule, std::span<const int> blocks) {
  for (const int block : blocks) {
    schedule.decisions.push_back(moe::RestoreBlock{block, moe::RestoreDense::recompute});
  }
  return schedule;
}

/// The blocks that can be restored beside the schedule's decisions, all of them together.
std::vector<int> restorable_blocks(const moe::Program& program, const moe::Schedule& schedule) {
  std::set<int> layers;
  for (const moe::Op& op : program.ops) {
    if (op.layer >= 0) layers.insert(op.layer);
  }
  std::vector<int> blocks(layers.begin(), layers.end());
  while (!blocks.empty()) {
    try {
      moe::apply(program, with_blocks_restored(schedule, blocks));
      break;
    } catch (const moe::Refusal& refusal) {
      const auto named = std::ranges::find(blocks, refusal.where.layer.value_or(-1));
      blocks.erase(named == blocks.end() ? named - 1 : named);
    }
  }
  return blocks;
}

/// None where the schedule is not legal.
std::optional<bool> fits(const Situation& situation, const moe::Schedule& schedule) {
  try {
    return fits_memory(situation, schedule);
  } catch (const moe::Refusal&) {
    return std::nullopt;
  }
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

moe::Schedule lightest_schedule(const moe::Program& program, const moe::Schedule& schedule) {
  const auto sharded = with_sharded_optimizer(program, schedule);
  const moe::Schedule& least = sharded ? *sharded : schedule;
  return with_blocks_restored(least, restorable_blocks(program, least));
}

std::optional<Lighter> lighter_schedule(const Situation& situation, const moe::Schedule& schedule) {
  if (situation.progress != nullptr) situation.progress->expect(1);
  if (situation.cluster.memory_bytes == 0 || fits(situation, schedule).value_or(true)) {
    return std::nullopt;
  }
  const auto sharded = with_sharded_optimizer(situation.program, schedule);
  if (sharded && fits(situation, *sharded) == true) return Lighter{*sharded, true};
  const moe::Schedule& least = sharded ? *sharded : schedule;
  const std::vector<int> blocks = restorable_blocks(situation.program, least);
  if (situation.progress != nullptr) {
    situation.progress->expect(2 + static_cast<std::size_t>(std::bit_width(blocks.size())));
  }
  const auto with_first = [&](std::size_t count) {
    return with_blocks_restored(least, std::span(blocks).first(count));
  };
  const auto is_enough = [&](std::size_t count) {
    return fits(situation, with_first(count)) == true;
  };
  if (blocks.empty() || !is_enough(blocks.size())) return Lighter{with_first(blocks.size()), false};
  // Every block takes memory away, so halving finds the fewest that are enough.
  std::size_t too_few = 0, enough = blocks.size();
  while (enough - too_few > 1) {
    const std::size_t some = (too_few + enough) / 2;
    (is_enough(some) ? enough : too_few) = some;
  }
  return Lighter{with_first(enough), true};
}

moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule) {
  auto lighter = lighter_schedule(situation, schedule);
  return lighter && lighter->fits ? std::move(lighter->schedule) : schedule;
}

}  // namespace tuner
