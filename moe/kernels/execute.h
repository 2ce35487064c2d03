#pragma once

#include <type_traits>

#include "moe/kernels/adam.h"
#include "moe/kernels/add.h"
#include "moe/kernels/attention.h"
#include "moe/kernels/combine.h"
#include "moe/kernels/cross_entropy.h"
#include "moe/kernels/embed.h"
#include "moe/kernels/expert_linear.h"
#include "moe/kernels/gate.h"
#include "moe/kernels/gate_gradient.h"
#include "moe/kernels/gelu.h"
#include "moe/kernels/layer_norm.h"
#include "moe/kernels/linear.h"
#include "moe/kernels/permute.h"
#include "moe/kernels/sgd.h"

namespace moe {

/// Issues one computing op on an executor, which both back ends have one of:
///   rows(n, width, f)                  f(team, row) for every row, each about `width` elements
///   long elements(n, f)                     f(i) for every element column_sums(n, width, f,
///   targets)  sums of f(row, column) over the rows, in row order gemm(Gemm<Real>) a matrix
///   product, or a batch of them batches(n, f)                      f(executor, first, count) until
///   all n are covered kQueryBlock                        queries that attention takes at once
/// Each call comes after the one before it has finished.
///
/// Throws std::logic_error for the ops that a Communicator executes.
template <class Exec>
void execute_op(Exec& exec, const BoundOp& bound) {
  std::visit(
      [&](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, AllToAll> || std::is_same_v<Kind, AllReduce> ||
                      std::is_same_v<Kind, ExchangeCounts>) {
          throw std::logic_error(bound.op->name + ": a communicator executes this op");
        } else if (bound.writes[0].dtype == DType::f64) {
          launch<double>(exec, kind, bound);
        } else {
          launch<float>(exec, kind, bound);
        }
      },
      bound.op->kind);
}

}  // namespace moe
