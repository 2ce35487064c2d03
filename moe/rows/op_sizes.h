#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"
#include "moe/rows/tensor.h"

namespace moe {

/// One op on one rank with its sizes known: what Op::work() and bytes_to_peers() of the op kinds
/// count with.
struct OpSizes {
  const std::vector<Tensor>& tensors;  ///< of the Program
  const std::vector<Use>& reads;       ///< of the op
  const std::vector<Use>& writes;
  RoutedLayer routed_layer;  ///< whose routing the op binds or uses
  int stage = 0;             ///< of the pipeline, that carries the op out
  const Binding& binding;
  const Groups& groups;
  int rank = 0;

  const Use& in(std::size_t position) const { return reads[position]; }
  const Use& out(std::size_t position) const { return writes[position]; }
  const Tensor& tensor(const Use& use) const;
  double rows(const Use& use) const;
  double columns(const Use& use) const;
  std::int64_t bytes(const Use& use) const;
  /// Of everything the op reads and writes.
  std::int64_t all_bytes() const;

  /// `flops_per_element` on every element of `operand`; everything is read and written once.
  Work element_wise(const Use& operand, double flops_per_element) const;
  /// Rows gathered or scattered: what is touched is the rows moved, not the whole other side.
  Work gathered(const Use& rows) const;
  /// A matrix product of rows x inner by inner x outer, in `calls` parts.
  Work product(double rows, double inner, double outer, std::int64_t calls = 1) const;
  /// A communication that sends so much to every peer.
  Work sent(const std::vector<std::int64_t>& bytes_to_peers) const;
};

}  // namespace moe
