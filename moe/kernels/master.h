#pragma once

#include <cstdint>
#include <type_traits>

#include "moe/kernels/device.h"
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

/// Sets n elements of a parameter to updated(gradient, old value, state&...). Where it is stored in
/// fewer bits, `parameter` is its master, and `stored` becomes what that has become, rounded; else
/// both are the same memory.
template <class Stored, class Team, class F, class... State>
MOE_BODY void update_parameter(Team& team, std::int64_t n, const Wide<Stored>* gradient,
                               Wide<Stored>* parameter, Stored* stored, F updated,
                               State*... states) {
  using Real = Wide<Stored>;
  if constexpr (std::is_same_v<Stored, Real>) {
    team.update(n, stored, updated, gradient, static_cast<const Real*>(parameter), states...);
  } else {
    team.update(
        n, stored,
        [=](Real g, Real& wide, State&... state) { return wide = updated(g, wide, state...); },
        gradient, parameter, states...);
  }
}

}  // namespace moe
