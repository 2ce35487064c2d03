#pragma once

#include <stdexcept>
#include <type_traits>

#include "moe/kernels/activation.h"
#include "moe/kernels/adam.h"
#include "moe/kernels/add.h"
#include "moe/kernels/add_returned.h"
#include "moe/kernels/attention.h"
#include "moe/kernels/choose_tokens.h"
#include "moe/kernels/combine.h"
#include "moe/kernels/copy.h"
#include "moe/kernels/cosine.h"
#include "moe/kernels/cross_entropy.h"
#include "moe/kernels/draw.h"
#include "moe/kernels/einsum.h"
#include "moe/kernels/embed.h"
#include "moe/kernels/expert_bias.h"
#include "moe/kernels/expert_linear.h"
#include "moe/kernels/gated_silu.h"
#include "moe/kernels/gradient_norm.h"
#include "moe/kernels/jitter.h"
#include "moe/kernels/layer_norm.h"
#include "moe/kernels/linear.h"
#include "moe/kernels/load_balancing.h"
#include "moe/kernels/narrow.h"
#include "moe/kernels/pack.h"
#include "moe/kernels/padding.h"
#include "moe/kernels/permute.h"
#include "moe/kernels/rms_norm.h"
#include "moe/kernels/rotary.h"
#include "moe/kernels/round_bf16.h"
#include "moe/kernels/router_z_loss.h"
#include "moe/kernels/select_experts.h"
#include "moe/kernels/sgd.h"
#include "moe/kernels/soft_slots.h"
#include "moe/kernels/softmax.h"
#include "moe/kernels/split_selection.h"
#include "moe/kernels/sum_shares.h"

namespace moe {

/// The type in which what the op works on is stored: bf16 where any operand is, since its wide
/// operands are then in f32; f32 where all are integers.
inline DType stored_type(const BoundOp& bound) {
  for (const auto* views : {&bound.writes, &bound.reads}) {
    for (const View& view : *views) {
      if (view.dtype == DType::f64 || view.dtype == DType::bf16) return view.dtype;
    }
  }
  return DType::f32;
}

/// Issues one op of Executor::kernel on an executor. Each back end has an executor with these
/// members:
///   rows(n, width, f)                       f(team, row) for every row, each about `width` long
///   elements(n, f)                          f(i) for every element
///   column_sums(n, width, f, targets)       sums of f(row, column) over the rows, in row order
///   gemm(Gemm<In, Out>)                     a matrix product, or a batch of them
///   batches(n, f)                           f(executor, first, count) until all n are covered
///   copy(to, from, bytes)                   between the device's memory and the host's
///   kAttentionTile                          scores that attention works on at once
/// Calls take effect one after the other. A body with `kFewLongRows` has few rows, each of which a
/// device computes by a large block of threads.
///
/// `launch` has one parameter, the type in which activations are stored. Bodies compute in Wide of
/// it, and write each operand in the type that the facts of the op say.
///
/// Throws std::logic_error for ops that are not carried out by kernels, and for operands of a type
/// that the op has no kernel for.
template <class Exec>
void execute_op(Exec& exec, const BoundOp& bound) {
  std::visit(
      [&](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (Kind::facts.executor != Executor::kernel) {
          throw std::logic_error(bound.op->name + ": no kernel carries this op out");
        } else {
          switch (stored_type(bound)) {
            case DType::f64:
              return launch<double>(exec, kind, bound);
            case DType::bf16:
              // Ops all of whose numbers are wide have no kernel of their own for bf16.
              if constexpr (Kind::facts.stores()) return launch<Bf16>(exec, kind, bound);
              throw std::logic_error(bound.op->name + ": no kernel in bf16");
            default:
              return launch<float>(exec, kind, bound);
          }
        }
      },
      bound.op->kind);
}

}  // namespace moe
