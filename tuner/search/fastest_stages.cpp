#include "tuner/search/fastest_stages.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "moe/passes/place_blocks.h"
#include "tuner/planners/micro_batch_order/stage_cuts.h"
#include "tuner/search/stage_cut.h"

namespace tuner {
namespace {

moe::Schedule with_stages(const moe::Program& program, moe::Schedule schedule,
                          const std::vector<int>& blocks_of_stages) {
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::PlaceBlocks>(decision);
  });
  moe::PlaceBlocks placing = chunks_in_turn(blocks_of_stages, program.stages);
  if (placing.stages != moe::stages_of_blocks(program)) {
    schedule.decisions.emplace_back(std::move(placing));
  }
  return schedule;
}

/// The most that a restored block has beside what it keeps, while it is in backward.
std::int64_t most_restored_bytes(const SetupPieces& pieces) {
  std::int64_t most = 0;
  for (const auto& [kind, block] : pieces.blocks) {
    if (block.kept.empty()) continue;
    most = std::max(most, block.kept.front().bytes - block.least_kept_bytes());
  }
  return most;
}

}  // namespace

std::optional<CutSchedule> with_fastest_stages(const SetupPieces& pieces, const moe::Model& model,
                                               const TrainingSetup& setup,
                                               const moe::Program& program,
                                               const moe::Schedule& schedule,
                                               std::int64_t limit_bytes,
                                               const ExcessOf& excess_of) {
  const PiecesInTurn turn = in_turn(pieces, model);
  std::vector<std::int64_t> memory(static_cast<std::size_t>(setup.layout.pipeline),
                                   limit_bytes == 0 ? kAnyBytes : limit_bytes);
  const auto first = fastest_cut(turn, setup, memory);
  if (!first) return std::nullopt;
  const bool is_legal = !first->blocks.empty();
  CutSchedule cut{is_legal ? with_stages(program, schedule, first->blocks) : schedule, {}};
  if (limit_bytes == 0) return cut;
  cut.excess = excess_of(cut.schedule);
  if (!is_legal || std::ranges::max(cut.excess) <= 0) return cut;
  const std::int64_t restored_bytes = most_restored_bytes(pieces);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const std::int64_t beyond = limit_bytes + cut.excess[i] - first->bytes[i];
    memory[i] -= std::max<std::int64_t>(beyond, 0) + restored_bytes;
  }
  const auto second = fastest_cut(turn, setup, memory);
  if (!second || second->blocks.empty() || second->blocks == first->blocks) return cut;
  cut.schedule = with_stages(program, schedule, second->blocks);
  cut.excess = excess_of(cut.schedule);
  return cut;
}

}  // namespace tuner
