#include "moe/run/host_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <variant>

#include "db/console/format_rows.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "moe/run/run_state.h"

namespace moe {
namespace {

bool offloads(const Program& program) {
  return std::ranges::any_of(program.tensors,
                             [](const Tensor& tensor) { return tensor.pool == Pool::host; });
}

/// [layer]: the copies that a rank's gate sends into it. Chunks of a layer permute the same copies.
std::map<RoutedLayer, std::int64_t> sent_copies(const Program& program) {
  std::map<RoutedLayer, std::int64_t> copies;
  for (const Op& op : program.ops) {
    const auto* permute = std::get_if<Permute>(&op.kind);
    if (permute == nullptr) continue;
    const Use& tokens = op.reads[0];
    const std::int64_t rows = program.tensors[tokens.tensor].rows;
    copies[routed_layer(op)] =
        (slice_end(rows, tokens.slice) - slice_begin(rows, tokens.slice)) * permute->choices;
  }
  return copies;
}

/// The padded rows, and those of even routing where routing decides.
Binding even_rows(const RunState& state) {
  const auto copies = sent_copies(state.program);
  Binding binding = state.padded;
  for (const Op& op : state.program.ops) {
    const auto* counts = std::get_if<ExchangeCounts>(&op.kind);
    const auto found = copies.find(routed_layer(op));
    if (counts == nullptr || found == copies.end()) continue;
    const LayerRouting even =
        uniform_routing(op.layer, stage_ranks(state.groups), counts->experts, found->second);
    binding.layouts.emplace(found->first, make_row_layout(even, state.groups, state.world.rank,
                                                          state.row_handling.at(op.layer)));
  }
  return binding;
}

constexpr std::int64_t and_a_quarter(std::int64_t bytes) { return bytes + bytes / 4; }

std::int64_t within_limit(const RunState& state, std::int64_t bytes) {
  const std::int64_t limit = state.options.host_memory_limit_bytes;
  return limit > 0 ? std::min(bytes, limit) : bytes;
}

/// What the plan needs as far as that is known before anything runs.
std::int64_t expected_bytes(RunState& state) {
  MemoryPlan& plan = *state.plan;
  const bool is_exact = plan.is_complete();
  if (!is_exact) plan.advance(even_rows(state));
  const std::int64_t peak = plan.peak_bytes(Pool::host);
  if (!is_exact) plan.restart();
  return within_limit(state, is_exact ? peak : and_a_quarter(peak));
}

HostBlock block_of(RunState& state, std::int64_t begin, std::int64_t end) {
  return {begin, end, state.backend.host_block(end - begin + TouchedMemory::kGuardBytes)};
}

/// One block of `bytes` in place of those that are there.
void replace_blocks(RunState& state, std::int64_t bytes) {
  state.host_blocks.clear();
  state.backend.free_host_blocks();
  state.host_blocks.push_back(block_of(state, 0, bytes));
}

/// nullptr where no block holds all of the tensor.
const HostBlock* holder_of(const RunState& state, TensorId tensor) {
  const std::int64_t begin = state.plan->offset(tensor), end = state.plan->end(tensor);
  const auto found = std::ranges::find_if(state.host_blocks, [&](const HostBlock& block) {
    return block.begin <= begin && end <= block.end;
  });
  return found == state.host_blocks.end() ? nullptr : &*found;
}

}  // namespace

void make_host_blocks(RunState& state) {
  if (!offloads(state.program)) return;
  const std::int64_t bytes = expected_bytes(state);
  join_host_blocks(state);
  if (state.host_blocks.empty() || state.host_blocks.front().end < bytes) {
    replace_blocks(state, bytes);
  }
}

void join_host_blocks(RunState& state) {
  if (state.host_blocks.size() < 2) return;
  std::int64_t bytes = 0;
  for (const HostBlock& block : state.host_blocks) bytes = std::max(bytes, block.end);
  replace_blocks(state, bytes);
}

void grow_host_blocks(RunState& state) {
  const MemoryPlan& plan = *state.plan;
  const std::int64_t peak = plan.peak_bytes(Pool::host);
  if (within_limit(state, peak) < peak) {
    throw OutOfMemory(
        fmt::format("rank {}: {} to be offloaded, {} more than the host's memory may hold: offload "
                    "less, lower global_batch, or use more ranks",
                    state.world.rank, db::format_cell("bytes", peak),
                    db::format_cell("bytes", peak - state.options.host_memory_limit_bytes)),
        peak, {.rank = state.world.rank});
  }
  if (peak == 0 || (!state.host_blocks.empty() && peak <= state.host_blocks.front().end)) return;
  std::int64_t begin = peak, end = 0;
  for (std::size_t t = 0; t < state.program.tensors.size(); ++t) {
    const auto tensor = static_cast<TensorId>(t);
    if (state.program.tensors[t].pool != Pool::host || !plan.has_place(tensor)) continue;
    if (holder_of(state, tensor) != nullptr) continue;
    begin = std::min(begin, plan.offset(tensor));
    end = std::max(end, plan.end(tensor));
  }
  if (end == 0) return;
  state.host_blocks.push_back(
      block_of(state, begin, std::max(end, within_limit(state, and_a_quarter(end)))));
  if (state.touched)
    state.touched_host.emplace_back(state.backend, state.host_blocks.back().memory, 0);
}

void cover_host_blocks(RunState& state) {
  const std::int64_t peak = state.plan->peak_bytes(Pool::host);
  for (std::size_t i = 0; i < state.touched_host.size(); ++i) {
    const HostBlock& block = state.host_blocks[i];
    if (peak > block.begin) state.touched_host[i].cover(std::min(peak, block.end) - block.begin);
  }
}

std::byte* host_place(const RunState& state, TensorId tensor) {
  const HostBlock* const block = holder_of(state, tensor);
  if (block == nullptr) {
    throw std::logic_error(fmt::format("{}: no block of the host's memory holds it",
                                       state.program.tensors[tensor].name));
  }
  return block->memory + (state.plan->offset(tensor) - block->begin);
}

}  // namespace moe
