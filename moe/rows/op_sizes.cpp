#include "moe/rows/op_sizes.h"

#include "moe/rows/element_share.h"

namespace moe {

const Tensor& OpSizes::tensor(const Use& use) const { return tensors[use.tensor]; }
double OpSizes::rows(const Use& use) const {
  if (use.shared_by) return static_cast<double>(elements(use)) / columns(use);
  return static_cast<double>(rows_of(tensor(use), use.slice, binding));
}
double OpSizes::columns(const Use& use) const { return static_cast<double>(tensor(use).columns); }
std::int64_t OpSizes::elements(const Use& use) const {
  const std::int64_t all = rows_of(tensor(use), use.slice, binding) * tensor(use).columns;
  if (!use.shared_by) return all;
  return element_share({0, all}, index_in_group(groups, *use.shared_by, rank),
                       group_size(groups, *use.shared_by))
      .count;
}
std::int64_t OpSizes::bytes(const Use& use) const {
  return elements(use) * bytes_of(tensor(use).dtype);
}
std::int64_t OpSizes::all_bytes() const {
  std::int64_t total = 0;
  for (const Use& use : reads) total += bytes(use);
  for (const Use& use : writes) total += bytes(use);
  return total;
}

Work OpSizes::element_wise(const Use& operand, double flops_per_element) const {
  return {rows(operand) * columns(operand) * flops_per_element, all_bytes()};
}
Work OpSizes::gathered(const Use& rows) const { return {0, 2 * bytes(rows)}; }
Work OpSizes::product(double rows, double inner, double outer, std::int64_t calls) const {
  return {2 * rows * inner * outer, all_bytes(), 0, calls};
}
Work OpSizes::sent(const std::vector<std::int64_t>& bytes_to_peers) const {
  Work work;
  work.calls = 0;
  for (const std::int64_t bytes : bytes_to_peers) {
    work.wire_bytes += bytes;
    if (bytes > 0) ++work.calls;
  }
  return work;
}

}  // namespace moe
