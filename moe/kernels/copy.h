#pragma once

#include <cstddef>

#include "moe/kernels/view.h"

namespace moe {

/// Copies the op's rows from its first read to its write; ranges that adjoin are one copy.
template <class Exec>
void copy_rows(Exec& exec, const BoundOp& bound) {
  const View& from = bound.reads[0];
  const std::int64_t row_bytes = from.columns * bytes_of(from.dtype);
  const auto* source = static_cast<const std::byte*>(from.data);
  auto* target = static_cast<std::byte*>(bound.writes[0].data);
  for (std::size_t i = 0; i < bound.ranges.size();) {
    const std::int64_t begin = bound.ranges[i].begin;
    std::int64_t end = begin;
    for (; i < bound.ranges.size() && bound.ranges[i].begin == end; ++i) {
      end += bound.ranges[i].rows;
    }
    if (end == begin) continue;
    exec.copy(target + begin * row_bytes, source + begin * row_bytes, (end - begin) * row_bytes);
  }
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
