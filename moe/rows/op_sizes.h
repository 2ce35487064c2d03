#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"
#include "moe/rows/tensor.h"

namespace moe {

/// One op on one rank with its sizes known. The op kinds work out work() and bytes_to_peers() from
/// it.
struct OpSizes {
  const std::vector<Tensor>& tensors;  ///< the tensors of the Program
  const std::vector<Use>& reads;       ///< the reads of the op
  const std::vector<Use>& writes;      ///< the writes of the op
  RoutedLayer routed_layer;            ///< the layer whose routing the op binds or uses
  int stage = 0;                       ///< the pipeline stage that carries the op out
  const Binding& binding;
  const Groups& groups;
  int rank = 0;

  const Use& in(std::size_t position) const { return reads[position]; }
  const Use& out(std::size_t position) const { return writes[position]; }
  const Tensor& tensor(const Use& use) const;
  double rows(const Use& use) const;  ///< of a share of elements, also a part of a row
  double columns(const Use& use) const;
  std::int64_t elements(const Use& use) const;
  std::int64_t bytes(const Use& use) const;
  /// The bytes of everything that the op reads and writes.
  std::int64_t all_bytes() const;

  /// Work of an op that does `flops_per_element` on every element of `operand` and reads and writes
  /// each of its operands once.
  Work element_wise(const Use& operand, double flops_per_element) const;
  /// Work of an op that gathers or scatters `rows`. Only the rows moved count, not the whole tensor
  /// that they come from or go to.
  Work gathered(const Use& rows) const;
  /// Work of a product of a rows x inner matrix with an inner x outer one, in `calls` GEMMs.
  Work product(double rows, double inner, double outer, std::int64_t calls = 1) const;
  /// Work of a communication that sends these bytes to its peers.
  Work sent(const std::vector<std::int64_t>& bytes_to_peers) const;
};

}  // namespace moe
