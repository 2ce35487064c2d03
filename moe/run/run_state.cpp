#include "moe/run/run_state.h"

#include <fmt/format.h>

#include <chrono>

namespace moe {

std::string describe(const Op& op) {
  std::string text = op.name;
  if (op.layer >= 0) text += fmt::format(" (layer {}", op.layer);
  const Slice share = share_of(op);
  if (share.count > 1) {
    text += fmt::format("{}chunk {}/{}", op.layer >= 0 ? ", " : " (", share.index + 1, share.count);
  }
  return op.layer >= 0 || share.count > 1 ? text + ")" : text;
}

CallContext call_context(const RunState& state, const Op& op) {
  return {state.backend.native_stream(op.stream), op.stream, state.options.time_limit_s,
          describe(op)};
}

double now_s() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

}  // namespace moe
