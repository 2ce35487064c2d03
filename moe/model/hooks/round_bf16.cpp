#include "moe/model/hooks/hooks.h"

namespace moe {

/// Values and gradients that pass keep 8 bits of their mantissa: what training would do if they
/// were stored or sent as bfloat16 there. They stay as large as they are, so it costs time and
/// saves none.
Layer round_bf16_hook(LayerBuilder& build, HookPlace place, TensorId x) {
  const std::string name = std::string(kHookPlaces[static_cast<std::size_t>(place)]) + ".bf16";
  const TensorId y = build.like(name, x);
  build.op(RoundBf16{}, name, {x}, {y});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.like("d_" + name, dy);
    build.op(RoundBf16{}, name + " gradient", {dy}, {dx});
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
