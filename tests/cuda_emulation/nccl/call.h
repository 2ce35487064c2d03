#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace moelab::cuda_emulation::nccl {

enum class NcclOp : std::int32_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  send,
  receive
};

/// One call, as its rank made it. Counts are elements, and those of a block for all-gather and
/// reduce-scatter.
struct NcclCall {
  NcclOp op;
  ncclDataType_t type;
  std::int64_t count;
  int peer = -1;  ///< the root, or the other rank of a message; -1 where there is neither
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

/// What a communicator puts on a stream for one call or one group.
struct NcclKernel {
  cudaStream_t stream = nullptr;
  std::vector<NcclCall> calls;
};

inline bool is_message(NcclOp op) { return op == NcclOp::send || op == NcclOp::receive; }

int bytes_of(ncclDataType_t type);
bool is_known(ncclDataType_t type);
/// "ncclReduce"
const char* name_of(NcclOp op);
/// "ncclReduce(100 ncclFloat32, root 1)"
std::string text_of(NcclOp op, ncclDataType_t type, std::int64_t count, int peer);
/// "ncclReduce(100 ncclFloat32, root 1) and 3 more of its group"
std::string text_of(const NcclKernel& kernel);

/// to[i] = to[i] + from[i], each sum in the type itself: bf16 and half round after every addition,
/// integers wrap around.
void add_to(std::byte* to, const std::byte* from, std::int64_t count, ncclDataType_t type);

}  // namespace moelab::cuda_emulation::nccl
