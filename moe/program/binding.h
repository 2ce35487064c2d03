#pragma once

#include <cstdint>
#include <map>

#include "moe/program/program.h"
#include "moe/program/row_layout.h"

namespace moe {

/// Sizes that bind late: the row layout of every MoE layer and micro-batch (of every part of it, where it is cut)
/// whose routing is known so far, on one rank.
struct Binding {
  std::map<RoutedLayer, RowLayout> layouts;
};

/// The layouts of all layers of `program` under `routing`, parts of the batch as part_of says. Throws
/// std::out_of_range for a layer without routing.
Binding bind(const Program& program, const Routing& routing, const Groups& groups, int rank);

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
