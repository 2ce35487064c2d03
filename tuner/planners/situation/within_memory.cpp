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

/// The blocks that the schedule's decisions allow to be restored, ascending.
struct Restorable {
  std::vector<int> blocks;
  std::vector<int> whole;  ///< those of them whose exchanges can be repeated
};

/// The first `restored` of the blocks are computed again, and of those the first `whole` that can be
/// whole.
moe::Schedule with_blocks_restored(moe::Schedule schedule, const Restorable& restorable,
                                   std::size_t restored, std::size_t whole) {
  const auto repeating = std::span(restorable.whole).first(whole);
  for (const int block : std::span(restorable.blocks).first(restored)) {
    const auto communication = std::ranges::binary_search(repeating, block)
                                   ? moe::RestoreCommunication::repeat
                                   : moe::RestoreCommunication::keep;
    schedule.decisions.push_back(
        moe::RestoreBlock{block, moe::RestoreDense::recompute, communication});
  }
  return schedule;
}

moe::Schedule with_all_restored(const moe::Schedule& schedule, const Restorable& restorable) {
  return with_blocks_restored(schedule, restorable, restorable.blocks.size(),
                              restorable.whole.size());
}

/// All that can be restored together.
Restorable restorable_blocks(const moe::Program& program, const moe::Schedule& schedule) {
  std::set<int> layers, sending;
  for (const moe::Op& op : program.ops) {
    if (op.layer >= 0) layers.insert(op.layer);
    if (moe::repeats_with_block(op)) sending.insert(op.layer);
  }
  for (const auto& restoring : moe::decisions_of<moe::RestoreActivation>(schedule)) {
    sending.erase(restoring.layer);
  }
  Restorable all{{layers.begin(), layers.end()}, {sending.begin(), sending.end()}};
  while (!all.blocks.empty()) {
    try {
      moe::apply(program, with_all_restored(schedule, all));
      break;
    } catch (const moe::Refusal& refusal) {
      const int block = refusal.where.layer.value_or(all.blocks.back());
      // What is refused whole may be legal with what was sent.
      if (std::erase(all.whole, block) == 0 && std::erase(all.blocks, block) == 0) {
        all.whole.empty() ? all.blocks.pop_back() : all.whole.pop_back();
      }
    }
  }
  return all;
}

/// The fewest that are enough, of `most` that are; each takes memory away, so halving finds them.
template <class IsEnough>
std::size_t fewest(std::size_t most, const IsEnough& is_enough) {
  std::size_t too_few = 0;
  while (most - too_few > 1) {
    const std::size_t some = (too_few + most) / 2;
    (is_enough(some) ? most : too_few) = some;
  }
  return most;
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
  return with_all_restored(least, restorable_blocks(program, least));
}

std::optional<Lighter> lighter_schedule(const Situation& situation, const moe::Schedule& schedule) {
  if (situation.progress != nullptr) situation.progress->expect(1);
  if (situation.cluster.memory_bytes == 0 || fits(situation, schedule).value_or(true)) {
    return std::nullopt;
  }
  return lighter_schedule(
      situation.program, schedule,
      [&](const moe::Schedule& lighter) { return fits(situation, lighter) == true; },
      situation.progress);
}

Lighter lighter_schedule(const moe::Program& program, const moe::Schedule& schedule,
                         const std::function<bool(const moe::Schedule&)>& fits,
                         PlanningProgress* progress) {
  const auto sharded = with_sharded_optimizer(program, schedule);
  if (sharded && fits(*sharded)) return {*sharded, true};
  const moe::Schedule& least = sharded ? *sharded : schedule;
  const Restorable all = restorable_blocks(program, least);
  const std::size_t blocks = all.blocks.size(), whole = all.whole.size();
  if (progress != nullptr) {
    progress->expect(3 + static_cast<std::size_t>(std::bit_width(blocks)));
  }
  const auto is_enough = [&](std::size_t restored, std::size_t of_them_whole) {
    return fits(with_blocks_restored(least, all, restored, of_them_whole));
  };
  if (blocks > 0 && is_enough(blocks, 0)) {
    const std::size_t few = fewest(blocks, [&](std::size_t count) { return is_enough(count, 0); });
    return {with_blocks_restored(least, all, few, 0), true};
  }
  if (whole == 0 || !is_enough(blocks, whole)) return {with_all_restored(least, all), false};
  const std::size_t few =
      fewest(whole, [&](std::size_t count) { return is_enough(blocks, count); });
  return {with_blocks_restored(least, all, blocks, few), true};
}

moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule) {
  auto lighter = lighter_schedule(situation, schedule);
  return lighter && lighter->fits ? std::move(lighter->schedule) : schedule;
}

}  // namespace tuner
