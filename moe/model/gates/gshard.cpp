#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// Noisy top-k: the softmax gate on
///   H(x)_e = (x W)_e + n_e softplus((x W_noise)_e),   n_e standard normal
/// [Shazeer et al. 2017, Eq. 4, which FSMoE 3.1 gives as GShard's gate; the GShard paper itself has
/// no such noise, but passes over second experts at random]. Noise belongs to training: a held-out
/// loss has none (without_noise in iteration.h).
GateOutput build_gshard(LayerBuilder& build, TensorId x) {
  const int experts = build.model.experts;
  const Layer logits = gate_logits(build, x), deviations = gate_logits(build, x, "gate.noise");
  const TensorId noisy = build.wide("gate_noisy_logits", experts), step = build.program().step;
  const Draw draw = build.draw();
  build.op(AddNoise{draw}, "gate noise", {logits.output, deviations.output, step}, {noisy});

  const auto backward = [=, &build](TensorId d_noisy) {
    const TensorId d_deviations = build.wide("d_gate_deviations", experts);
    build.op(AddNoiseGradient{draw}, "gate noise gradient", {d_noisy, deviations.output, step},
             {d_deviations});
    const TensorId d_by_noise = deviations.backward(d_deviations),
                   d_by_logits = logits.backward(d_noisy),
                   dx = build.activation("d_input.noisy_gate", build.model.d_model);
    build.op(Add{}, "gate noise input gradient", {d_by_logits, d_by_noise}, {dx});
    return dx;
  };
  return softmax_top_k(build, {noisy, backward});
}

}  // namespace

Gate gshard_gate() {
  return {.description = "softmax over noisy logits, the k largest (Shazeer et al.)",
          .build = build_gshard,
          .size = [](const Model& model) {
            const double outputs = 2.0 * model.experts;  // logits and noise
            return GateSize{static_cast<double>(model.d_model) * outputs, outputs};
          }};
}

}  // namespace moe
