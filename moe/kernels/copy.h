#pragma once

#include <cstddef>

#include "moe/kernels/view.h"

namespace moe {

/// Copies the op's rows from its first read to its write.
template <class Exec>
void copy_rows(Exec& exec, const BoundOp& bound) {
  const View& from = bound.reads[0];
  const std::int64_t row_bytes = from.columns * bytes_of(from.dtype);
  const auto* source = static_cast<const std::byte*>(from.data);
  auto* target = static_cast<std::byte*>(bound.writes[0].data);
  for_each_run(bound, row_bytes, [&](std::int64_t begin, std::int64_t bytes) {
    exec.copy(target + begin, source + begin, bytes);
  });
}

template <class Real, class Exec>
void launch(Exec& exec, const OffloadRows&, const BoundOp& bound) {
  copy_rows(exec, bound);
}
template <class Real, class Exec>
void launch(Exec& exec, const FetchRows&, const BoundOp& bound) {
  copy_rows(exec, bound);
}
/// Nothing to do: its stream has waited for the copies before this op starts.
template <class Real, class Exec>
void launch(Exec&, const AwaitCopies&, const BoundOp&) {}

}  // namespace moe
