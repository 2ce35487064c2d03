#include "moe/rows/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace moe {

RoutedLayer routed_layer(const Tensor& tensor) {
  return {tensor.layer, tensor.micro_batch, tensor.part};
}

bool is_bound(const Tensor& tensor, const Binding& binding) {
  return tensor.rows_are == Rows::fixed || binding.layouts.contains(routed_layer(tensor));
}

std::int64_t rows_of(const Tensor& tensor, Slice slice, const Binding& binding) {
  if (tensor.rows_are == Rows::fixed) {
    return slice_end(tensor.rows, slice) - slice_begin(tensor.rows, slice);
  }
  const auto layout = binding.layouts.find(routed_layer(tensor));
  if (layout == binding.layouts.end()) {
    throw std::out_of_range(fmt::format("rows of {} are not known before the routing of layer {}",
                                        tensor.name, tensor.layer));
  }
  switch (tensor.rows_are) {
    case Rows::fixed:
      break;
    case Rows::sent:
      return sent_rows(layout->second, slice);
    case Rows::received:
      return received_rows(layout->second, slice);
    case Rows::gathered:
      return gathered_rows(layout->second, slice);
    case Rows::relayed:
    case Rows::leader_sent:
    case Rows::leader_received:
      return relayed_rows(layout->second, tensor.rows_are, slice);
  }
  throw std::logic_error("rows_of: no such rows");
}

std::int64_t rows_of(const Tensor& tensor, const Binding& binding) {
  std::int64_t rows = 0;
  for (int window = tensor.first_window; window < tensor.windows; window += tensor.window_step) {
    rows = std::max(rows, rows_of(tensor, Slice{window, tensor.windows}, binding));
  }
  return rows;
}

std::int64_t allocated_bytes(const Tensor& tensor, const Binding& binding) {
  const bool by_capacity = tensor.rows_are != Rows::fixed && tensor.rows > 0;
  const std::int64_t rows = by_capacity ? tensor.rows : rows_of(tensor, binding);
  return rows * tensor.columns * bytes_of(tensor.dtype);
}

}  // namespace moe
