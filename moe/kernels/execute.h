#pragma once

#include <stdexcept>
#include <type_traits>

#include "moe/kernels/activation.h"
#include "moe/kernels/adam.h"
#include "moe/kernels/add.h"
#include "moe/kernels/add_returned.h"
#include "moe/kernels/attention.h"
#include "moe/kernels/attention_sinks.h"
#include "moe/kernels/balance_ranking.h"
#include "moe/kernels/choose_tokens.h"
#include "moe/kernels/clamped_swiglu.h"
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
#include "moe/kernels/join_heads.h"
#include "moe/kernels/keep_best_groups.h"
#include "moe/kernels/layer_norm.h"
#include "moe/kernels/linear.h"
#include "moe/kernels/load_balancing.h"
#include "moe/kernels/narrow.h"
#include "moe/kernels/pack.h"
#include "moe/kernels/padding.h"
#include "moe/kernels/permute.h"
#include "moe/kernels/query_key_norm.h"
#include "moe/kernels/rms_norm.h"
#include "moe/kernels/rotary.h"
#include "moe/kernels/round_bf16.h"
#include "moe/kernels/router_z_loss.h"
#include "moe/kernels/scale_rows.h"
#include "moe/kernels/select_experts.h"
#include "moe/kernels/sgd.h"
#include "moe/kernels/soft_slots.h"
#include "moe/kernels/softmax.h"
#include "moe/kernels/split_selection.h"
#include "moe/kernels/stored_type.h"
#include "moe/kernels/sum_shares.h"

namespace moe {

/// Kinds that an executor has kernels of its own for. `launch` carries out all others.
template <class Exec, class Kind>
concept HasOwnKernel = requires(Exec& exec, const Kind& kind, const BoundOp& bound) {
  exec.own(kind, bound);
};

template <class Exec, class Kind>
void launch_own(Exec& exec, const Kind& kind, const BoundOp& bound) {
  exec.own(kind, bound);
}

/// Issues one op of Executor::kernel on an executor. Each back end has an executor with these
/// members:
///   rows(n, width, f)                       f(team, row) for every row, each about `width` long
///   elements(n, f)                          f(i) for every element
///   map(n, out, f, in...)                   out[i] = f(in[i]...) for every element
///   map_two(n, first, second, f, in...)     likewise, of what the two members of f(in[i]...) are
///   column_sums(n, width, f, targets, in...)
///                                           sums of f(row, in[row, column]...) over the rows
///   column_sums_of_groups(in, ranges, width, out, accumulate)
///                                           sums of the rows of each range, out[range, width]
///   gemm(Gemm<In, Out>)                     a matrix product, or a batch of them
///   gemms(span of Gemm<In, Out>)            products that do not depend on each other
///   batches(n, f)                           f(executor, first, count) until all n are covered
///   copy(to, from, bytes)                   between the device's memory and the host's
///   kAttentionTile                          scores that attention works on at once
///   scratch(bytes), kSlotTile               on a device: aligned memory of an op, or nullptr; the
///                                           tokens that a team gives slots to
/// and may have own(kind, bound) for kinds that it has kernels of its own for. Calls take effect
/// one after the other. A body with `kFewLongRows` has few rows, each of which a device computes by
/// a large block of threads; rows of a body with `kWideRows` are wider than what a warp computes.
/// `kLeastThreads` of a body says how many threads a multiprocessor has at a time, which bounds their
/// registers.
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
        } else if constexpr (HasOwnKernel<Exec, Kind>) {
          launch_own(exec, kind, bound);
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
