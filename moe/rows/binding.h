#pragma once

#include <cstdint>
#include <map>

#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

namespace moe {

/// The sizes that depend on routing, on one rank: the row layout of every MoE layer in every
/// micro-batch, or in every part of it where the batch is cut. It holds the layouts whose routing
/// is known so far.
struct Binding {
  std::map<RoutedLayer, RowLayout> layouts;
};

/// The MoE layer, micro-batch and part whose routing decides how many rows the tensor has.
RoutedLayer routed_layer(const Tensor& tensor);

/// True when the rows of this tensor are known.
bool is_bound(const Tensor& tensor, const Binding& binding);

/// Rows in use of a tensor, or of one slice of it. A tensor that holds one slice at a time
/// (Tensor::windows) counts as the largest slice that it holds. Throws std::out_of_range with the
/// tensor and its layer where the routing of the layer is not known yet.
std::int64_t rows_of(const Tensor& tensor, const Binding& binding);
std::int64_t rows_of(const Tensor& tensor, Slice slice, const Binding& binding);

/// Bytes to set aside for a tensor. With a capacity they hold the most rows that it allows, known
/// before the first step. In a dropless layer they hold the rows in use.
std::int64_t allocated_bytes(const Tensor& tensor, const Binding& binding);

}  // namespace moe
