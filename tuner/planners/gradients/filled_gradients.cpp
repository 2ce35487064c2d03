#include "tuner/planners/gradients/filled_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "moe/errors.h"

namespace tuner {
namespace {

/// The places of a stage as parts for the equations. A part before them all has the gradients that
/// exist by the first place.
std::vector<BackwardPart> parts_of(const StageGradients& stage, Fill fill) {
  std::vector<BackwardPart> parts{{0, 0}};
  for (const GradientPlace& place : stage.places) {
    const bool filled =
        fill == Fill::all_of_backward || place.after != moe::ExchangePlace::dispatch;
    parts.push_back({filled ? place.idle_s : 0, 0});
  }
  for (const GradientGrain& grain : stage.grains) parts[grain.usable].gradients += grain.bytes;
  return parts;
}

/// The shares of step 1, and the rest for step 2. The rest refers to the stage.
struct BothSteps {
  GradientShares first;
  GradientRest rest;
};
BothSteps both_steps(const StageGradients& stage, Fill fill, const PhaseSeconds& phase_s) {
  const auto parts = parts_of(stage, fill);
  const GradientShares first = fill_overlappable(parts, stage.all_reduce);
  const auto reduce_s = [all_reduce = stage.all_reduce](double bytes) {
    return bytes > 0 ? seconds_of(all_reduce, 1, bytes) : 0;
  };
  GradientRest rest = rest_after(parts, first);
  rest.left_seconds = reduce_s;
  rest.seconds = [&stage, first, reduce_s, phase_s](int part, double bytes) {
    const auto i = static_cast<std::size_t>(part);
    const double gar_s = reduce_s(first.given[i] + bytes);
    if (part == 0) return gar_s;
    const GradientPlace& place = stage.places[i - 1];
    if (place.after != moe::ExchangePlace::dispatch) return std::max(place.idle_s, gar_s);
    return phase_s(place.at, gar_s);
  };
  return {first, rest};
}

/// [place]: the bytes that are to be all-reduced at each place of a stage.
std::vector<double> bytes_by_place(const StageGradients& stage, Fill fill,
                                   const PhaseSeconds& phase_s) {
  const auto [first, rest] = both_steps(stage, fill, phase_s);
  const SharedRest second = share_exactly(rest, kGradientQuanta);
  std::vector<double> bytes;
  for (std::size_t part = 1; part < first.given.size(); ++part) {
    bytes.push_back(first.given[part] + second.shares.given[part]);
  }
  return bytes;
}

}  // namespace

GradientRest rest_of_stage(const StageGradients& stage, Fill fill, const PhaseSeconds& phase_s) {
  return both_steps(stage, fill, phase_s).rest;
}

moe::Schedule with_gradients_shared(const UnplacedGradients& gradients, Fill fill,
                                    const PhaseSeconds& phase_s) {
  return with_gradients(gradients, [&](const StageGradients& stage) {
    return places_for_bytes(stage, bytes_by_place(stage, fill, phase_s));
  });
}

PipelineOf last_of(const moe::Program& program, int layer, moe::Phase phase) {
  return {{layer, program.micro_batches - 1}, phase};
}

moe::Schedule with_gradients_filled(const UnplacedGradients& gradients, Fill fill) {
  return with_gradients(gradients, [&](const StageGradients& stage) {
    const auto phase_s = [&](int layer, double gar_s) {
      const auto one =
          stage.pipelines.find(last_of(gradients.scheduled, layer, moe::Phase::backward));
      if (one == stage.pipelines.end()) {
        throw moe::Refusal(
            "gradients",
            fmt::format("the backward phase of layer {} is not cut into chunks", layer),
            "expected pipeline_split of it in backward", {"", layer});
      }
      return moe_phase_s(one->second.chunks, before_combine(one->second), gar_s);
    };
    return places_for_bytes(stage, bytes_by_place(stage, fill, phase_s));
  });
}

}  // namespace tuner
