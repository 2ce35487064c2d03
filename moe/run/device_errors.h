#pragma once

#include <span>
#include <string>

#include "moe/errors.h"
#include "moe/run/run_state.h"

namespace moe {

/// Where an error of a device was found that came with `ops`, which were issued together: "rank 1:
/// experts (layer 0), or an op before it that had not ended (--check-each-op tells which)".
std::string place_of_error(const RunState& state, std::span<const int> ops);

/// Calls f(). Where it fails for an error of the device, or because a wait for the device has
/// exceeded its limit, the error begins with place().
template <class Place, class F>
auto naming(const Place& place, const F& f) {
  try {
    return f();
  } catch (const CudaError& error) {
    throw CudaError(place() + ": " + error.what());
  } catch (const DeviceTimeLimit& error) {
    throw TimeLimit(place() + ": " + error.what());
  }
}
template <class F>
auto naming_ops(const RunState& state, std::span<const int> ops, const F& f) {
  return naming([&] { return place_of_error(state, ops); }, f);
}
template <class F>
auto naming_op(const RunState& state, int op, const F& f) {
  return naming_ops(state, std::span<const int>(&op, 1), f);
}

}  // namespace moe
