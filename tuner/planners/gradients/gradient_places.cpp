#include "tuner/planners/gradients/gradient_places.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tuner/planners/pipeline/pipeline_times.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

// The numbers of grains, where gradients have so many rows:
constexpr double kGrainsOfAll = 512;   ///< in all layers together, about
constexpr double kGrainsOfLayer = 32;  ///< in a layer, at least

std::set<int> blocks_of(const moe::Program& program, int stage) {
  std::set<int> blocks;
  for (const moe::Op& op : program.ops) {
    if (op.phase == moe::Phase::backward && op.layer >= 0 && op.stage == stage) {
      blocks.insert(op.layer);
    }
  }
  return blocks;
}

std::vector<GradientPlace> places_of_stage(const moe::Program& program, int stage) {
  std::vector<GradientPlace> places;
  for (const int block : blocks_of(program, stage)) {
    for (const auto behind :
         {moe::ExchangePlace::dispatch, moe::ExchangePlace::combine, moe::ExchangePlace::block}) {
      const auto op = moe::place_of(program, behind, block);
      if (op && program.ops[*op].stage == stage) places.push_back({behind, block, 0, *op});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const GradientPlace& a, const GradientPlace& b) { return a.op < b.op; });
  return places;
}

/// The time of the stage's ops after `place`, until the next exchange or `last`.
double seconds_after(const moe::Program& program, const GradientPlace& place, std::size_t last,
                     const std::vector<double>& seconds) {
  const int stage = program.ops[place.op].stage;
  double sum = 0;
  for (std::size_t i = place.op + 1; i <= last; ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::is_all_to_all(op) || moe::comes_once(op)) break;
    if (moe::runs_in(op, stage)) sum += seconds[i];
  }
  return sum;
}

/// The same places with the idle time at each.
std::vector<GradientPlace> measured(std::vector<GradientPlace> places, const moe::Program& program,
                                    const std::vector<double>& seconds,
                                    const std::map<PipelineOf, PipelineTimes>& pipelines) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    GradientPlace& place = places[i];
    // A layer that is cut along the batch has no pipeline of chunks.
    const auto pipeline =
        place.after == moe::ExchangePlace::dispatch
            ? pipelines.find({moe::routed_layer(program.ops[place.op]), moe::Phase::backward})
            : pipelines.end();
    if (pipeline != pipelines.end()) {
      const PipelineTimes& times = pipeline->second;
      place.idle_s = overlappable_s(times.chunks, before_combine(times));
    } else {
      const std::size_t last = i + 1 < places.size() ? places[i + 1].op : program.ops.size() - 1;
      place.idle_s = seconds_after(program, place, last, seconds);
    }
  }
  return places;
}

/// [tensor]: the ops of backward that write it, each with the slice that it writes.
using Writers = std::map<moe::TensorId, std::vector<std::pair<std::size_t, moe::Slice>>>;
Writers writers_in_backward(const moe::Program& program) {
  Writers writers;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (op.phase != moe::Phase::backward || moe::comes_once(op)) continue;
    for (const moe::Use& use : op.writes) writers[use.tensor].push_back({i, use.slice});
  }
  return writers;
}

/// The first place at which all gradients that the op sums exist.
std::size_t first_usable(const Writers& writers, const moe::Op& op,
                         const std::vector<GradientPlace>& places) {
  std::size_t last = 0;
  for (const moe::Use& use : op.writes) {
    const auto found = writers.find(use.tensor);
    if (found == writers.end()) continue;
    for (const auto& [index, slice] : found->second) {
      if (moe::overlap(slice, use.slice)) last = std::max(last, index);
    }
  }
  const auto place = std::find_if(places.begin(), places.end(),
                                  [&](const GradientPlace& one) { return one.op >= last; });
  return static_cast<std::size_t>(place - places.begin());
}

double bytes_summed(const moe::Program& program, const moe::Op& op) {
  double bytes = 0;
  for (const moe::Use& use : op.writes) {
    const moe::Tensor& tensor = program.tensors[use.tensor];
    const auto rows =
        moe::slice_end(tensor.rows, use.slice) - moe::slice_begin(tensor.rows, use.slice);
    bytes += static_cast<double>(rows * tensor.columns * moe::bytes_of(tensor.dtype));
  }
  return bytes;
}

/// The all-reduces of gradients alone, with all tensors.
moe::Program reductions_of(const moe::Program& program) {
  moe::Program reductions;
  reductions.tensors = program.tensors;
  std::ranges::copy_if(program.ops, std::back_inserter(reductions.ops), moe::reduces_gradients);
  return reductions;
}

/// Slices all-reduces into as many grains as above, or into `slice_bytes`. Rows are never cut, and
/// gradients that several stages reduce are not sliced.
moe::Program cut_into_grains(moe::Program program, double slice_bytes) {
  struct Layer {
    std::set<int> stages;
    double bytes = 0;
    std::int64_t rows = std::numeric_limits<int>::max();  ///< rows of its smallest all-reduce
  };
  std::map<int, Layer> layers;
  for (const moe::Op& op : program.ops) {
    if (!moe::reduces_gradients(op)) continue;
    Layer& layer = layers[op.layer];
    layer.stages.insert(op.stage);
    layer.bytes += bytes_summed(program, op);
    std::int64_t rows = 0;
    for (const moe::Use& use : op.writes) {
      rows += program.tensors[use.tensor].rows;
    }
    layer.rows = std::min(layer.rows, rows);
  }
  double all = 0;
  for (const auto& [number, layer] : layers) all += layer.bytes;
  for (const auto& [number, layer] : layers) {
    const double wanted =
        slice_bytes > 0 ? std::ceil(layer.bytes / slice_bytes)
                        : std::max(kGrainsOfLayer, std::ceil(kGrainsOfAll * layer.bytes / all));
    const int grains = static_cast<int>(std::min(wanted, static_cast<double>(layer.rows)));
    if (layer.stages.size() > 1 || grains < 2) continue;
    program = moe::apply(std::move(program), moe::SliceAllReduce{number, grains, {}});
  }
  return program;
}

/// `cut`: all-reduces as grains.
std::vector<GradientGrain> grains_of_stage(const moe::Program& cut, const Writers& writers,
                                           int stage, const std::vector<GradientPlace>& places) {
  std::map<std::pair<int, int>, GradientGrain> grains;
  std::map<int, std::size_t> layer_usable;
  for (const moe::Op& op : cut.ops) {
    if (!moe::reduces_gradients(op) || op.stage != stage) continue;
    GradientGrain& grain =
        grains.try_emplace({op.layer, op.chunk.index}, GradientGrain{op.layer, op.chunk.index})
            .first->second;
    grain.bytes += bytes_summed(cut, op);
    grain.usable = std::max(grain.usable, first_usable(writers, op, places));
    std::size_t& usable = layer_usable[op.layer];
    usable = std::max(usable, grain.usable);
  }
  std::vector<GradientGrain> result;
  for (auto& [key, grain] : grains) {
    // The gradients of a block become usable together, which makes fewer slices. Those of the head
    // and of the embedding do not, since all of backward lies between them.
    if (grain.layer >= 0) grain.usable = layer_usable[grain.layer];
    result.push_back(grain);
  }
  std::sort(result.begin(), result.end(), [](const GradientGrain& a, const GradientGrain& b) {
    return std::tuple(a.usable, -a.layer, a.index) < std::tuple(b.usable, -b.layer, b.index);
  });
  return result;
}

LinearFit mean_all_reduce(const moe::Program& program, int stage, const std::vector<OpCost>& costs,
                          const std::vector<double>& seconds) {
  double calls = 0, alpha_s = 0, sending_s = 0, bytes = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (!moe::reduces_gradients(op) || op.stage != stage) continue;
    const double launch_s = costs[i].calls.empty() ? 0 : costs[i].calls.front().alpha_s;
    calls += 1;
    alpha_s += launch_s;
    sending_s += std::max(seconds[i] - launch_s, 0.0);
    bytes += bytes_summed(program, op);
  }
  LinearFit fit;
  fit.unit = "byte";
  if (calls > 0) fit.alpha_s = alpha_s / calls;
  if (bytes > 0) fit.beta_s_per_unit = sending_s / bytes;
  return fit;
}

/// A layer's gradients as slices, and the place of each slice.
struct LayerSlices {
  moe::SliceAllReduce slicing;
  std::vector<std::size_t> places;
};

std::map<int, LayerSlices> slices_by_layer(const StageGradients& stage, const GrainPlaces& places,
                                           bool grains_stay_apart) {
  std::map<std::pair<int, int>, std::size_t> by_grain;
  for (std::size_t i = 0; i < stage.grains.size(); ++i) {
    by_grain[{stage.grains[i].layer, stage.grains[i].index}] = places[i];
  }
  std::map<int, LayerSlices> layers;
  for (const auto& [grain, place] : by_grain) {
    LayerSlices& slices = layers[grain.first];
    slices.slicing.layer = grain.first;
    if (slices.places.empty() || grains_stay_apart || slices.places.back() != place) {
      slices.places.push_back(place);
      slices.slicing.shares.push_back(0);
    }
    ++slices.slicing.shares.back();
    slices.slicing.slices = static_cast<int>(slices.places.size());
  }
  return layers;
}

}  // namespace

UnplacedGradients unplaced_gradients(const Situation& situation, moe::Schedule schedule,
                                     double slice_bytes) {
  UnplacedGradients gradients;
  gradients.schedule = std::move(schedule);
  gradients.scheduled = moe::apply(situation.program, gradients.schedule);
  const moe::Program& scheduled = gradients.scheduled;
  const ProgramCosts costs = costs_of(situation, scheduled);
  const std::vector<double> seconds = alone_seconds(situation, costs);
  gradients.pipelines = pipeline_times(scheduled, seconds);
  gradients.grains_stay_apart = slice_bytes > 0;
  const moe::Program cut = cut_into_grains(reductions_of(scheduled), slice_bytes);
  const Writers writers = writers_in_backward(scheduled);
  for (int stage = 0; stage < scheduled.stages; ++stage) {
    StageGradients& one = gradients.stages.emplace_back();
    one.places =
        measured(places_of_stage(scheduled, stage), scheduled, seconds, gradients.pipelines);
    one.grains = grains_of_stage(cut, writers, stage, one.places);
    one.all_reduce = mean_all_reduce(scheduled, stage, costs.ops, seconds);
  }
  return gradients;
}

GrainPlaces places_for_bytes(const StageGradients& stage, const std::vector<double>& bytes) {
  GrainPlaces result(stage.grains.size(), stage.places.size());
  std::size_t next = 0;
  double over = 0;  // bytes that earlier places were given too little
  for (std::size_t place = 0; place < stage.places.size(); ++place) {
    if (bytes[place] <= 0) continue;
    double wanted = bytes[place] + over;
    while (next < stage.grains.size() && stage.grains[next].usable <= place &&
           wanted >= stage.grains[next].bytes / 2) {
      wanted -= stage.grains[next].bytes;
      result[next++] = place;
    }
    over = wanted;
  }
  return result;
}

moe::Schedule with_gradients(const UnplacedGradients& gradients,
                             const std::function<GrainPlaces(const StageGradients&)>& places_of) {
  moe::Schedule schedule = gradients.schedule;
  const Writers writers = writers_in_backward(gradients.scheduled);
  moe::Program reductions = reductions_of(gradients.scheduled);
  std::map<int, std::vector<moe::Op>> of_layer;
  for (moe::Op& op : reductions.ops) of_layer[op.layer].push_back(std::move(op));
  for (std::size_t s = 0; s < gradients.stages.size(); ++s) {
    const StageGradients& stage = gradients.stages[s];
    for (auto& [layer, slices] :
         slices_by_layer(stage, places_of(stage), gradients.grains_stay_apart)) {
      if (slices.slicing.slices > 1) {
        reductions.ops = of_layer[layer];
        reductions = moe::apply(std::move(reductions), slices.slicing);
        schedule.decisions.push_back(slices.slicing);
      }
      for (const moe::Op& op : slices.slicing.slices > 1 ? reductions.ops : of_layer[layer]) {
        if (!moe::reduces_gradients(op) || op.layer != layer || op.stage != static_cast<int>(s)) {
          continue;
        }
        std::size_t& place = slices.places[op.chunk.index];
        place = std::max(place, first_usable(writers, op, stage.places));
      }
      for (std::size_t slice = 0; slice < slices.places.size(); ++slice) {
        if (slices.places[slice] >= stage.places.size()) continue;
        const GradientPlace& place = stage.places[slices.places[slice]];
        schedule.decisions.push_back(
            moe::PlaceAllReduce{layer, static_cast<int>(slice), place.after, place.at});
      }
    }
  }
  return schedule;
}

}  // namespace tuner
