// Attention in bf16 by a library that does not store scores; all else by the tiles of
// kernels/attention.h.
#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/attention.h"
#include "moe/kernels/stored_type.h"

namespace moe {
namespace {

/// Elements of one row of qkv, or of its gradient, from a sequence and a head of keys on.
template <class T>
struct FusedRow {
  T *q, *k, *v;

  static FusedRow of(const AttentionShape<Bf16>& s, T* qkv, const FusedCalls::Call& call) {
    T* const row = qkv + call.sequence * s.length * s.row;
    T* const keys = row + s.query_width;
    return {row + call.key_value_head * s.sharing * s.head_width,
            keys + call.key_value_head * s.head_width,
            keys + s.key_value_heads * s.head_width + call.key_value_head * s.value_width};
  }
};

/// dy and d_qkv: of the gradient alone. False where tiles are to compute it.
template <class Op>
bool launch_fused(CudaExec& exec, DeviceStream& stream, const Op& op, const View& qkv,
                  const View& y, const View& log_sum_exp, const View& scratch,
                  const Bf16* dy = nullptr, Bf16* d_qkv = nullptr) {
  FusedAttention* const fused = stream.fused_attention();
  if (fused == nullptr) return false;
  const auto s = AttentionShape<Bf16>::of(exec, op, qkv, scratch);
  if (s.sequences == 0) return true;
  const FusedSizes whole{s.sequences,   s.length, s.heads, s.key_value_heads, s.head_width,
                         s.value_width, s.row,    s.width, op.scale};
  const auto& calls = fused->calls(whole, d_qkv != nullptr,
                                   count_of(scratch) * static_cast<std::int64_t>(sizeof(float)));
  for (const FusedCalls::Call& call : calls) {
    const std::int64_t head = call.key_value_head * s.sharing, token = call.sequence * s.length,
                       y_at = token * s.width + head * s.value_width;
    const auto row = FusedRow<const Bf16>::of(s, data_of<Bf16>(qkv), call);
    FusedOperands operands{row.q, row.k, row.v, data_of<Bf16>(y) + y_at,
                           data_of<float>(log_sum_exp) + s.statistic_at(call.sequence, head, 0)};
    if (d_qkv != nullptr) {
      const auto written = FusedRow<Bf16>::of(s, d_qkv, call);
      operands.dy = dy + y_at;
      operands.dq = written.q;
      operands.dk = written.k;
      operands.dv = written.v;
    }
    call.plan->run(operands, scratch.data, stream.get());
  }
  return !calls.empty();
}

/// Of the attention that plans are made for: no window.
template <class Op>
bool is_plain(const Op& op) {
  return op.window == 0 || op.window >= op.sequence_length;
}

/// By tiles, where no library computes it.
template <class Op>
void launch_tiles(CudaExec& exec, const Op& op, const BoundOp& bound) {
  switch (stored_type(bound)) {
    case DType::f64:
      return launch<double>(exec, op, bound);
    case DType::bf16:
      return launch<Bf16>(exec, op, bound);
    default:
      return launch<float>(exec, op, bound);
  }
}

}  // namespace

void CudaExec::own(const Attention& op, const BoundOp& bound) {
  if (stored_type(bound) == DType::bf16 && is_plain(op) && bound.reads.size() == 1 &&
      launch_fused(*this, device_stream_, op, bound.reads[0], bound.writes[0], bound.writes[1],
                   bound.writes[2])) {
    return;
  }
  launch_tiles(*this, op, bound);
}

void CudaExec::own(const AttentionGradient& op, const BoundOp& bound) {
  if (stored_type(bound) == DType::bf16 && is_plain(op) &&
      launch_fused(*this, device_stream_, op, bound.reads[1], bound.reads[2], bound.reads[3],
                   bound.writes[1], data_of<Bf16>(bound.reads[0]),
                   data_of<Bf16>(bound.writes[0]))) {
    return;
  }
  launch_tiles(*this, op, bound);
}

}  // namespace moe
