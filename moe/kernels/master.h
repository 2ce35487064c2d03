#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "moe/kernels/bf16.h"
#include "moe/kernels/device.h"
#include "moe/kernels/stored_type.h"
#include "moe/kernels/view.h"

namespace moe {

/// Whether parameters of this type have a master: a float, which the optimizer updates in place of
/// the parameter, which is it rounded. Memory has the parameter and what the master has beyond it.
template <class Stored>
inline constexpr bool kHasMaster = std::is_same_v<Stored, Bf16>;

/// A parameter that an update changes.
template <class Stored>
struct UpdatedParameter {
  Stored* values;
  Bf16Remainder* remainders;  ///< null where there are no masters

  MOE_BODY UpdatedParameter from(std::int64_t begin) const {
    return {values + begin, kHasMaster<Stored> ? remainders + begin : nullptr};
  }
};

/// That of an update with `states` states of the optimizer.
template <class Stored>
UpdatedParameter<Stored> parameter_of(const BoundOp& bound, std::size_t states) {
  Bf16Remainder* remainders = nullptr;
  if constexpr (kHasMaster<Stored>)
    remainders = data_of<Bf16Remainder>(bound.writes.at(1 + states));
  return {data_of<Stored>(bound.writes[0]), remainders};
}

/// Where an update has the factor that clips gradients among its reads, if it has one.
inline std::size_t place_of_factor(const BoundOp& bound, std::size_t states) {
  return 3 + states + (stored_type(bound) == DType::bf16 ? 1 : 0);
}
template <class Real>
const Real* factor_of(const BoundOp& bound, std::size_t states) {
  const std::size_t place = place_of_factor(bound, states);
  return bound.reads.size() > place ? data_of<Real>(bound.reads[place]) : nullptr;
}

/// Sets n elements of a parameter, or their masters, to updated(gradient, old value, state&...).
template <class Stored, class Team, class F, class... State>
MOE_BODY void update_parameter(Team& team, std::int64_t n, const Wide<Stored>* gradient,
                               UpdatedParameter<Stored> parameter, F updated, State*... states) {
  using Real = Wide<Stored>;
  const Stored* old = parameter.values;
  if constexpr (kHasMaster<Stored>) {
    team.update(
        n, parameter.values,
        [=](Real g, Stored rounded, Bf16Remainder& remainder, State&... state) {
          const Real master = updated(g, float_of(rounded, remainder), state...);
          remainder = Bf16Remainder(master);
          return Stored(master);
        },
        gradient, old, parameter.remainders, states...);
  } else {
    team.update(n, parameter.values, updated, gradient, old, states...);
  }
}

}  // namespace moe
