#pragma once

#include <type_traits>

#include "moe/kernels/view.h"

namespace moe {

/// What an update changes: the parameter, writes[0], or its master at `position` of the writes
/// where the parameter is stored in fewer bits than it is updated in.
template <class Stored>
Wide<Stored>* updated_of(const BoundOp& bound, std::size_t position) {
  if constexpr (std::is_same_v<Stored, Wide<Stored>>) {
    return data_of<Stored>(bound.writes[0]);
  } else {
    return data_of<Wide<Stored>>(bound.writes.at(position));
  }
}

}  // namespace moe
