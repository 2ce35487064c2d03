#include "moe/model/hooks/hooks.h"

namespace moe {

/// y = x (1 + 0.01 u) with u uniform in [-1, 1), anew in every iteration, layer and place, and the same on any
/// ranks. Before the start of the layer: Switch Transformer's jitter [Fedus et al. 2021, 2.4 and Table 11], there on
/// the gate's input alone, here on that of the experts too. Held-out batches are jittered as well.
Layer jitter_hook(LayerBuilder& build, HookPlace place, TensorId x) {
  constexpr double kEpsilon = 1e-2;
  constexpr std::uint64_t kPlaces = kHookPlaces.size();
  const auto layer =
      static_cast<std::uint64_t>(build.block) * kPlaces + static_cast<std::uint64_t>(place);
  const Jitter kind{kEpsilon, static_cast<std::uint64_t>(build.model.seed) << 20 ^ layer,
                    index_in_group(build.groups, GroupKind::stage, build.rank) * build.tokens};
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
