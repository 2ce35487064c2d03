#include "moe/model/hooks/hooks.h"

namespace moe {

/// y = x (1 + 0.01 u), with u uniform in [-1, 1) and drawn anew in every iteration, layer and
/// place; it does not depend on the number of ranks or micro-batches. Before the start of the layer
/// it is Switch Transformer's jitter [Fedus et al. 2021, 2.4 and Table 11], which is on the input
/// of the gate only; here it is on that of the experts too. Held-out batches are not jittered
/// (without_noise in iteration.h).
Layer jitter_hook(LayerBuilder& build, HookPlace place, TensorId x) {
  constexpr double kEpsilon = 1e-2;
  constexpr int kPlaces = static_cast<int>(kHookPlaces.size());
  Draw draw = build.draw();
  // A layer number below those of all gates, so that no gate draws the same numbers.
  draw.layer = -1 - (build.block * kPlaces + static_cast<int>(place));
  const Jitter kind{kEpsilon, draw};
  const std::string name = std::string(kHookPlaces[static_cast<std::size_t>(place)]) + ".jitter";
  const TensorId y = build.like(name, x);
  build.op(kind, name, {x, build.program().step}, {y});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId dx = build.like("d_" + name, dy);
    build.op(kind, name + " gradient", {dy, build.program().step}, {dx});
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
