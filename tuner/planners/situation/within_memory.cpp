#include "tuner/planners/situation/within_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
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

/// The blocks are computed again, and those of `whole` with their exchanges. Both ascend.
moe::Schedule with_restored(moe::Schedule schedule, const Restorable& restored) {
  for (const int block : restored.blocks) {
    const auto communication = std::ranges::binary_search(restored.whole, block)
                                   ? moe::RestoreCommunication::repeat
                                   : moe::RestoreCommunication::keep;
    schedule.decisions.push_back(
        moe::RestoreBlock{block, moe::RestoreDense::recompute, communication});
  }
  return schedule;
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
      moe::apply(program, with_restored(schedule, all));
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

/// [stage]: bytes beyond the memory of a rank.
using Excess = std::vector<std::int64_t>;

bool is_within(const Excess& excess) {
  return std::ranges::all_of(excess, [](std::int64_t bytes) { return bytes <= 0; });
}

/// How many of the first blocks of a stage must be restored. Each takes memory away, mostly as much,
/// so a line between two numbers tells about where to try next; halving ends it.
class FewestBlocks {
 public:
  /// All of them, `most`, are enough, and none of them is not.
  FewestBlocks(std::size_t most, std::int64_t excess_of_none, std::int64_t excess_of_all)
      : enough_{most, excess_of_all}, too_few_{0, excess_of_none} {}

  bool is_known() const { return enough_.blocks - too_few_.blocks <= 1; }
  /// Once that is known, the fewest; else the number to try next.
  std::size_t number() const {
    if (is_known()) return enough_.blocks;
    const std::size_t between = enough_.blocks - too_few_.blocks;
    const double share = times_ >= kMostByLine
                             ? 0.5
                             : static_cast<double>(too_few_.excess) /
                                   static_cast<double>(too_few_.excess - enough_.excess);
    const auto more = static_cast<std::size_t>(std::ceil(share * static_cast<double>(between)));
    return too_few_.blocks + std::clamp<std::size_t>(more, 1, between - 1);
  }
  /// The excess of number().
  void learn(std::int64_t excess) {
    (excess <= 0 ? enough_ : too_few_) = {number(), excess};
    ++times_;
  }

 private:
  static constexpr int kMostByLine = 3;
  struct Tried {
    std::size_t blocks = 0;
    std::int64_t excess = 0;
  };
  Tried enough_, too_few_;
  int times_ = 0;
};

/// The blocks of a stage, and how it is made to fit.
struct StageBlocks {
  Restorable all;
  bool some_whole = false;               ///< all dense layers are not enough
  std::optional<FewestBlocks> fewest{};  ///< none where it fits as it is

  void add_to(Restorable& restored) const {
    if (!fewest) return;
    const auto take = [](const std::vector<int>& from, std::size_t count, std::vector<int>& to) {
      std::ranges::copy(std::span(from).first(count), std::back_inserter(to));
    };
    const std::size_t number = fewest->number();
    take(all.blocks, some_whole ? all.blocks.size() : number, restored.blocks);
    if (some_whole) take(all.whole, number, restored.whole);
  }
};

/// [stage]: those of the restorable blocks whose ops run there.
std::vector<StageBlocks> blocks_by_stage(const moe::Program& scheduled, const Restorable& all) {
  std::map<int, int> stage_of;
  for (const moe::Op& op : scheduled.ops) stage_of[op.layer] = op.stage;
  std::vector<StageBlocks> stages(static_cast<std::size_t>(scheduled.stages));
  for (const int block : all.blocks) stages[stage_of.at(block)].all.blocks.push_back(block);
  for (const int block : all.whole) stages[stage_of.at(block)].all.whole.push_back(block);
  return stages;
}

moe::Schedule with_restored(const moe::Schedule& schedule, const std::vector<StageBlocks>& stages) {
  Restorable restored;
  for (const StageBlocks& stage : stages) stage.add_to(restored);
  std::ranges::sort(restored.blocks);
  std::ranges::sort(restored.whole);
  return with_restored(schedule, restored);
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
  const moe::Schedule least = with_sharded_optimizer(program, schedule).value_or(schedule);
  const Restorable all = restorable_blocks(program, least);
  return {least, with_restored(least, {all.blocks, {}}), with_restored(least, all)};
}

moe::Schedule lightest_schedule(const moe::Program& program, const moe::Schedule& schedule) {
  return lighter_schedules(program, schedule).back();
}

std::optional<Lighter> lighter_schedule(const Situation& situation, const moe::Schedule& schedule) {
  if (situation.progress != nullptr) situation.progress->expect(1);
  if (situation.cluster.memory_bytes == 0) return std::nullopt;
  try {
    if (fits_memory(situation, schedule)) return std::nullopt;
  } catch (const moe::Refusal&) {
    return std::nullopt;
  }
  return lighter_schedule(
      situation.program, schedule,
      [&](const moe::Schedule& lighter) { return excess_bytes(situation, lighter); },
      situation.progress);
}

Lighter lighter_schedule(const moe::Program& program, const moe::Schedule& schedule,
                         const ExcessOf& excess_of, PlanningProgress* progress) {
  const auto sharded = with_sharded_optimizer(program, schedule);
  const moe::Schedule& least = sharded ? *sharded : schedule;
  const Excess of_none = excess_of(least);
  if (sharded && is_within(of_none)) return {least, true};
  const Restorable all = restorable_blocks(program, least);
  if (progress != nullptr) {
    progress->expect(3 + static_cast<std::size_t>(std::bit_width(all.blocks.size())));
  }
  const moe::Schedule lightest = with_restored(least, all);
  const Excess of_dense = excess_of(with_restored(least, {all.blocks, {}}));
  const Excess of_whole = all.whole.empty() || is_within(of_dense) ? of_dense : excess_of(lightest);
  std::vector<StageBlocks> stages = blocks_by_stage(moe::apply(program, least), all);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageBlocks& stage = stages[i];
    if (of_none[i] <= 0) continue;
    if (of_whole[i] > 0 && of_dense[i] > 0) return {lightest, false};
    stage.some_whole = of_dense[i] > 0;
    stage.fewest = stage.some_whole
                       ? FewestBlocks(stage.all.whole.size(), of_dense[i], of_whole[i])
                       : FewestBlocks(stage.all.blocks.size(), of_none[i], of_dense[i]);
  }
  const auto is_open = [](const StageBlocks& stage) {
    return stage.fewest && !stage.fewest->is_known();
  };
  while (std::ranges::any_of(stages, is_open)) {  // all stages at once: none needs another's bytes
    const Excess excess = excess_of(with_restored(least, stages));
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (is_open(stages[i])) stages[i].fewest->learn(excess[i]);
    }
  }
  return {with_restored(least, stages), true};
}

moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule) {
  auto lighter = lighter_schedule(situation, schedule);
  return lighter && lighter->fits ? std::move(lighter->schedule) : schedule;
}

}  // namespace tuner
