#include "tuner/planners/gradients/placed_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "moe/errors.h"
#include "tuner/planners/gradients/gradient_shares.h"

namespace tuner {
namespace {

/// The number of quanta of gradients that step 2 shares out.
constexpr int kGradientQuanta = 128;

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

/// [place]: the bytes that are to be all-reduced at each place of a stage.
std::vector<double> bytes_by_place(const StageGradients& stage, Fill fill,
                                   const PhaseSeconds& phase_s) {
  const auto parts = parts_of(stage, fill);
  const GradientShares first = fill_overlappable(parts, stage.all_reduce);
  const auto reduce_s = [&](double bytes) {
    return bytes > 0 ? seconds_of(stage.all_reduce, 1, bytes) : 0;
  };
  GradientRest rest = rest_after(parts, first);
  rest.left_seconds = reduce_s;
  rest.seconds = [&](int part, double bytes) {
    const auto i = static_cast<std::size_t>(part);
    const double gar_s = reduce_s(first.given[i] + bytes);
    if (part == 0) return gar_s;
    const GradientPlace& place = stage.places[i - 1];
    if (place.after != moe::ExchangePlace::dispatch) return std::max(place.idle_s, gar_s);
    return phase_s(place.at, gar_s);
  };
  const GradientShares second = share_exactly(rest, kGradientQuanta);
  std::vector<double> bytes;
  for (std::size_t part = 1; part < first.given.size(); ++part) {
    bytes.push_back(first.given[part] + second.given[part]);
  }
  return bytes;
}

/// True where no experts compute after the place: after a combine, or in a block before another
/// without experts.
bool is_dense(const std::vector<GradientPlace>& places, std::size_t index) {
  using moe::ExchangePlace;
  if (places[index].after == ExchangePlace::dispatch) return false;
  if (places[index].after == ExchangePlace::combine) return true;
  return index + 1 == places.size() || places[index + 1].after != ExchangePlace::dispatch;
}

}  // namespace

moe::Schedule with_gradients_shared(const UnplacedGradients& gradients, Fill fill,
                                    const PhaseSeconds& phase_s) {
  return with_gradients(gradients, [&](const StageGradients& stage) {
    return places_for_bytes(stage, bytes_by_place(stage, fill, phase_s));
  });
}

moe::Schedule with_gradients_filled(const UnplacedGradients& gradients, Fill fill) {
  return with_gradients_shared(gradients, fill, [&](int layer, double gar_s) {
    const auto one =
        gradients.pipelines.find(last_of(gradients.scheduled, layer, moe::Phase::backward));
    if (one == gradients.pipelines.end()) {
      throw moe::Refusal(
          "gradients", fmt::format("the backward phase of layer {} is not cut into chunks", layer),
          "expected pipeline_split of it in backward", {"", layer});
    }
    return moe_phase_s(one->second.chunks, before_combine(one->second), gar_s);
  });
}

moe::Schedule with_whole_gradients(const UnplacedGradients& gradients) {
  return with_gradients(gradients, [](const StageGradients& stage) {
    GrainPlaces places;
    for (const GradientGrain& grain : stage.grains) {
      std::size_t place = grain.usable;
      while (place < stage.places.size() && !is_dense(stage.places, place)) ++place;
      places.push_back(place);
    }
    return places;
  });
}

moe::Schedule with_sliced_gradients(const UnplacedGradients& gradients) {
  return with_gradients(gradients, [](const StageGradients& stage) {
    GrainPlaces places(stage.grains.size(), stage.places.size());
    std::size_t next = 0;
    for (std::size_t place = 0; place < stage.places.size(); ++place) {
      double busy_s = 0;
      while (next < stage.grains.size() && stage.grains[next].usable <= place &&
             busy_s < stage.places[place].idle_s) {
        busy_s += seconds_of(stage.all_reduce, 1, stage.grains[next].bytes);
        places[next++] = place;
      }
    }
    return places;
  });
}

PipelineOf last_of(const moe::Program& program, int layer, moe::Phase phase) {
  return {{layer, program.micro_batches - 1}, phase};
}

}  // namespace tuner
