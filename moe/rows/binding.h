#pragma once

#include <cstdint>
#include <map>

#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Sizes that bind late: the row layout of every MoE layer and micro-batch (of every part of it, where it is cut)
/// whose routing is known so far, on one rank.
struct Binding {
  std::map<RoutedLayer, RowLayout> layouts;
};

/// Whose routing binds the rows of a tensor.
RoutedLayer routed_layer(const Tensor& tensor);

/// True when the rows of this tensor are known.
bool is_bound(const Tensor& tensor, const Binding& binding);

/// Rows really used, of a window by the largest of its slices. Throws std::out_of_range naming tensor and layer
/// when the layer is not bound yet.
std::int64_t rows_of(const Tensor& tensor, const Binding& binding);
std::int64_t rows_of(const Tensor& tensor, Slice slice, const Binding& binding);

/// Bytes to set aside: the most that capacity allows where there is a capacity (known before the
/// first step), the rows really used where the layer is dropless.
std::int64_t allocated_bytes(const Tensor& tensor, const Binding& binding);

}  // namespace moe
