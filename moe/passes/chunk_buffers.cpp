#include "moe/passes/chunk_buffers.h"

#include <fmt/format.h>

#include <algorithm>

namespace moe {
namespace {

std::int64_t most_rows_of_chunk(const Program& program, const Tensor& tensor, int chunks) {
  if (tensor.rows == 0) return 0;
  const auto counts = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return binds_routing(op) && op.layer == tensor.layer;
  });
  const std::int64_t pairs = std::get<ExchangeCounts>(counts->kind).experts;
  const std::int64_t together = (tensor.rows + pairs * (chunks - 1)) / chunks;
  if (tensor.rows_per_pair == 0) return together;
  return std::min(together, pairs * ((tensor.rows_per_pair + chunks - 1) / chunks));
}

}  // namespace

Ring make_ring(Program& program, TensorId tensor, int chunks, int buffers,
               const std::string& suffix, bool reuse) {
  Tensor buffer = program.tensors[static_cast<std::size_t>(tensor)];
  const std::string name = buffer.name + suffix;
  buffer.rows = most_rows_of_chunk(program, buffer, chunks);
  buffer.windows = chunks;
  buffer.window_step = buffers;
  Ring ring;
  for (int i = 0; i < buffers; ++i) {
    buffer.name = buffers == 1 ? name : fmt::format("{}.{}", name, i);
    buffer.first_window = i;
    if (reuse && i == 0) {
      program.tensors[static_cast<std::size_t>(tensor)] = buffer;
      ring.push_back(tensor);
    } else {
      program.tensors.push_back(buffer);
      ring.push_back(static_cast<TensorId>(program.tensors.size()) - 1);
    }
  }
  return ring;
}

}  // namespace moe
