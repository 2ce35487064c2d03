#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/costs/fit.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// A place in backward that gradients can be reduced at beside other work.
struct GradientPlace {
  moe::ExchangePlace after = moe::ExchangePlace::dispatch;
  int at = 0;         ///< a block
  double idle_s = 0;  ///< so long until the next place or exchange, or between dispatch and combine
  std::size_t op = 0;  ///< the op of the Program that it comes after
};

/// Part of the gradients that a block's all-reduces sum, of about equal bytes.
struct GradientGrain {
  int layer = 0;  ///< -1: what lies outside the blocks
  int index = 0;  ///< within the layer
  double bytes = 0;
  std::size_t usable = 0;  ///< index of the first place at which it exists; places.size() = of none
};

/// What one pipeline stage has to reduce, and where it can.
struct StageGradients {
  std::vector<GradientPlace> places;  ///< in the order of backward
  std::vector<GradientGrain> grains;  ///< in the order in which they come to exist
  LinearFit all_reduce;               ///< seconds of bytes, of these all-reduces on average
  bool grains_stay_apart = false;     ///< each is reduced by itself
};

/// By stage. `scheduled`: cut and with its streams, gradients neither sliced nor placed. Grains of
/// at most `chunk_bytes` that stay apart; for 0 so fine that any plan can be followed.
std::vector<StageGradients> gradients_by_stage(const Situation& situation,
                                               const moe::Program& scheduled,
                                               double chunk_bytes = 0);

/// Where every grain goes: an index of places, or places.size() for after backward.
using GrainPlaces = std::vector<std::size_t>;

/// Grains in their order, as near as they come to what each place is to reduce.
GrainPlaces places_for_bytes(const StageGradients& stage, const std::vector<double>& bytes);

/// `schedule` with the slices and places of the gradients of `scheduled`, which it makes: grains of
/// a layer that lie side by side at one place are one piece, but for those that stay apart. What a
/// place is too early for, as rows are never cut, goes to the next.
moe::Schedule with_gradients_at(moe::Schedule schedule, const moe::Program& scheduled,
                                const std::vector<StageGradients>& stages,
                                const std::vector<GrainPlaces>& places);

/// The same with the grains of `scheduled`, which `pipeline` makes, of at most `chunk_bytes` where
/// that is not 0, at the places that `places_of` says for each stage.
moe::Schedule with_gradients(const Situation& situation, const moe::Schedule& pipeline,
                             const moe::Program& scheduled,
                             const std::function<GrainPlaces(const StageGradients&)>& places_of,
                             double chunk_bytes = 0);

}  // namespace tuner
