#include "moe/run/device_errors.h"

#include <fmt/format.h>

namespace moe {

std::string place_of_error(const RunState& state, std::span<const int> ops) {
  const char* doubt = "";
  if (!state.options.check_each_op) {
    doubt = ops.size() == 1
                ? ", or an op before it that had not ended (--check-each-op tells which)"
                : ", or an op that was launched with it, or one before it that had not ended "
                  "(--check-each-op tells which)";
  }
  return fmt::format("rank {}: {}{}", state.world.rank, describe(state.op(ops.front())), doubt);
}

}  // namespace moe
