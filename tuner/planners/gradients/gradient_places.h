#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/costs/fit.h"
#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// A place in backward where gradients can be all-reduced beside other work.
struct GradientPlace {
  moe::ExchangePlace after = moe::ExchangePlace::dispatch;
  int at = 0;          ///< the block
  double idle_s = 0;   ///< idle until the next place or exchange, or between dispatch and combine
  std::size_t op = 0;  ///< index of the op of the Program that the place comes after
};

/// A share of the gradients that the all-reduces of a block sum. Grains have about equal bytes.
struct GradientGrain {
  int layer = 0;  ///< -1: outside the blocks
  int index = 0;  ///< within the layer
  double bytes = 0;
  /// index of the first place at which it exists; places.size() = it exists at none
  std::size_t usable = 0;
};

/// The gradients of one pipeline stage, and the places for them.
struct StageGradients {
  std::vector<GradientPlace> places;  ///< in the order of backward
  std::vector<GradientGrain> grains;  ///< in the order in which backward makes them
  LinearFit all_reduce;               ///< seconds by bytes, the average over these all-reduces
};

/// A schedule whose gradients are neither sliced nor placed, and these gradients.
struct UnplacedGradients {
  moe::Schedule schedule;
  moe::Program scheduled;                         ///< cut, with its streams
  std::map<PipelineOf, PipelineTimes> pipelines;  ///< its
  std::vector<StageGradients> stages;
  bool grains_stay_apart = false;  ///< each grain is a slice of its own
};
/// Grains have at most `slice_bytes` and stay apart; for 0 they are so fine that any plan can be
/// followed. Throws as moe::apply.
UnplacedGradients unplaced_gradients(const Situation& situation, moe::Schedule schedule,
                                     double slice_bytes = 0);

/// The place of every grain: an index of places, or places.size() for after backward.
using GrainPlaces = std::vector<std::size_t>;

/// Places grains in their order. Each place reduces as nearly as possible its own `bytes`.
GrainPlaces places_for_bytes(const StageGradients& stage, const std::vector<double>& bytes);

/// The schedule with slices and places of gradients. `places_of` gives the places of a stage's
/// grains. Neighbouring grains of a layer at one place are one slice, except those that stay apart.
/// Rows are never cut: a slice that does not exist yet at its place goes to the next one.
moe::Schedule with_gradients(const UnplacedGradients& gradients,
                             const std::function<GrainPlaces(const StageGradients&)>& places_of);

}  // namespace tuner
