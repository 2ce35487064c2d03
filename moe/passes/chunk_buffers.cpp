#include "moe/passes/chunk_buffers.h"

#include <fmt/format.h>

#include <algorithm>

namespace moe {
namespace {

/// The most pairs of a sending rank and an expert from which a rank receives rows.
std::int64_t most_pairs(const Program& program, int layer) {
  const int members = program.groups.layout.expert;
  const int experts = experts_in_layer(program, layer);
  const ExpertSlots slots = expert_slots(placements(program)[layer], experts, members);
  const int sources = slots.rows_of_others == RowsOfOthers::home ? 1 : members;
  return std::int64_t{slots.own} * members + slots.replica_slots * sources;
}

std::int64_t most_rows_of_chunk(const Program& program, const Tensor& tensor, int chunks) {
  if (tensor.rows == 0) return 0;
  const std::int64_t pairs = most_pairs(program, tensor.layer);
  const std::int64_t together = (tensor.rows + pairs * (chunks - 1)) / chunks;
  if (tensor.rows_per_pair == 0) return together;
  return std::min(together, pairs * ((tensor.rows_per_pair + chunks - 1) / chunks));
}

}  // namespace

Ring make_ring(Program& program, TensorId tensor, int chunks, int buffers,
               const std::string& suffix, bool reuse) {
  Tensor buffer = program.tensors[tensor];
  const std::string name = buffer.name + suffix;
  buffer.rows = most_rows_of_chunk(program, buffer, chunks);
  buffer.windows = chunks;
  buffer.window_step = buffers;
  Ring ring;
  for (int i = 0; i < buffers; ++i) {
    buffer.name = buffers == 1 ? name : fmt::format("{}.{}", name, i);
    buffer.first_window = i;
    if (reuse && i == 0) {
      program.tensors[tensor] = buffer;
      ring.push_back(tensor);
    } else {
      program.tensors.push_back(buffer);
      ring.push_back(static_cast<TensorId>(program.tensors.size()) - 1);
    }
  }
  return ring;
}

}  // namespace moe
