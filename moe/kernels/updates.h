#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <variant>

#include "moe/kernels/adam.h"
#include "moe/kernels/sgd.h"
#include "moe/kernels/stored_type.h"

/// Updates of several parameters in few launches.
namespace moe {

/// Whether one launch can carry out both updates: they differ in nothing but the parameter and its
/// weight decay.
inline bool updates_alike(const BoundOp& a, const BoundOp& b) {
  if (stored_type(a) != stored_type(b) || a.reads.size() != b.reads.size()) return false;
  const auto alike = [&](const auto* one, const auto* other, std::size_t states) {
    if (one == nullptr || other == nullptr) return false;
    auto without_decay = *other;
    without_decay.weight_decay = one->weight_decay;
    const std::size_t factor = place_of_factor(a, states);
    return *one == without_decay && a.reads[1].data == b.reads[1].data &&
           (a.reads.size() <= factor || a.reads[factor].data == b.reads[factor].data);
  };
  return alike(std::get_if<AdamStep>(&a.op->kind), std::get_if<AdamStep>(&b.op->kind), 2) ||
         alike(std::get_if<SgdStep>(&a.op->kind), std::get_if<SgdStep>(&b.op->kind), 1);
}

/// Issues updates that are alike, in launches of as many parameters as the arguments of a kernel
/// have room for: 4 KiB on every device, and 32 KiB since CUDA 12.1. Most models need no more than
/// the first.
template <class Stored, class Kind, class Exec>
void launch_alike(Exec& exec, const Kind& kind, std::span<const BoundOp* const> ops) {
  constexpr std::size_t few = 60, most = 512;
  while (!ops.empty()) {
    const auto some = ops.first(std::min(ops.size(), most));
    if (some.size() <= few) {
      launch_updates<Stored, few>(exec, kind, some);
    } else {
      launch_updates<Stored, most>(exec, kind, some);
    }
    ops = ops.subspan(some.size());
  }
}

/// Issues updates of parameters, those that are alike and adjoin in one launch. Throws
/// std::logic_error for other ops.
template <class Exec>
void execute_updates(Exec& exec, std::span<const BoundOp* const> ops) {
  const auto issue = [&](const auto& kind, std::span<const BoundOp* const> alike) {
    switch (stored_type(*alike.front())) {
      case DType::f64:
        return launch_alike<double>(exec, kind, alike);
      case DType::bf16:
        return launch_alike<Bf16>(exec, kind, alike);
      default:
        return launch_alike<float>(exec, kind, alike);
    }
  };
  while (!ops.empty()) {
    std::size_t count = 1;
    while (count < ops.size() && updates_alike(*ops[0], *ops[count])) ++count;
    const auto alike = ops.first(count);
    const OpKind& kind = ops[0]->op->kind;
    if (const auto* adam = std::get_if<AdamStep>(&kind)) {
      issue(*adam, alike);
    } else if (const auto* sgd = std::get_if<SgdStep>(&kind)) {
      issue(*sgd, alike);
    } else {
      throw std::logic_error(ops[0]->op->name + ": not an update");
    }
    ops = ops.subspan(count);
  }
}

}  // namespace moe
