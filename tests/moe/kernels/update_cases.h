#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/program/op.h"

/// Parameters of many sizes that an optimizer updates at once, on any backend.
namespace moe::test {

struct UpdateCase {
  std::string name;
  OpKind kind;                      ///< AdamStep or SgdStep; every other parameter does not decay
  std::vector<std::int64_t> sizes;  ///< elements of each parameter
  double clip_factor = 0;           ///< 0: gradients are not clipped
};

/// Each optimizer with few parameters, with more than a small launch takes and with more than any
/// takes.
std::vector<UpdateCase> update_cases();

/// The bytes of all parameters and states after one update, by execute_together() or one by one.
std::vector<std::byte> updated(Backend& backend, const UpdateCase& update, DType dtype,
                               bool together);

/// How many calls of rows() execute_updates() makes of an executor.
int launches_of(const UpdateCase& update, DType dtype);

}  // namespace moe::test
