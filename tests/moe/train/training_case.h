#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/run/runner.h"
#include "moe/train/data.h"

/// Trains small models on threads-as-ranks and hands out everything that a schedule must not
/// change.
namespace moe::test {

struct Outcome {
  std::vector<double> losses;            ///< by step
  std::vector<double> auxiliary_losses;  ///< by step
  std::vector<double> z_losses;          ///< by step
  std::vector<double> gradient_norms;    ///< by step; empty where gradients are not clipped
  std::map<std::string, std::vector<double>>
      gradients;  ///< of the first step; experts of all ranks joined
  /// Parameters, gradients and optimizer states after the last step, joined likewise.
  std::map<std::string, std::vector<double>> state;
  std::vector<std::int64_t> planned_peaks, touched_peaks;  ///< by rank, last step
  std::vector<std::int64_t> planned_host_peaks,
      touched_host_peaks;             ///< the same for offloaded activations
  Timeline timeline;                  ///< last step, each rank's own clock
  Routing routing;                    ///< last step
  std::vector<std::int64_t> dropped;  ///< copies, by step
  double time_error_s = 0;            ///< of the timeline, the largest of all ranks
};

/// Schedules by step; the last one stays in force.
using Schedules = std::vector<Schedule>;

/// A rank's part of a parameter, of its gradient or of an optimizer state, with the name of the
/// parameter or state.
struct TensorPart {
  std::string name;
  std::vector<std::int64_t> places;  ///< of its values in the whole parameter, row-major
  std::vector<double> values;
  bool first_replica = true;  ///< of the ranks that hold the same part
};

/// The results of a training on one rank.
struct RankOutcome {
  std::vector<double> losses, auxiliary_losses, z_losses;  ///< its share, by step
  std::vector<double> gradient_norms;                      ///< of all ranks, by step
  std::vector<std::int64_t> dropped;                       ///< copies of its tokens, by step
  std::vector<TensorPart> gradients;                       ///< of the first step
  std::vector<TensorPart> state;                           ///< after the last
  IterationResult last;
  double time_error_s = 0;  ///< of its spans
};

/// `steps` iterations of this rank of `world`; tokens depend on the step and the place in the
/// global batch alone. Collective.
RankOutcome train_rank(const Model& model, const Schedules& schedules, const Groups& groups,
                       int steps, Communicator& world, Backend& backend, RunOptions options = {});

/// `steps` iterations on `ranks` threads; tokens depend on the step and the place in the global
/// batch alone.
Outcome train_small(const Model& model, const Schedule& schedule, int ranks, int steps);
/// The same under a layout, on one node or on several, with a backend that each rank makes itself.
using MakeBackend = std::function<std::unique_ptr<Backend>()>;
Outcome train_small(
    const Model& model, const Schedule& schedule, const Layout& layout, int steps,
    const MakeBackend& make_backend = [] { return make_cpu_backend(1); });
Outcome train_small(
    const Model& model, const Schedule& schedule, const Groups& groups, int steps,
    const MakeBackend& make_backend = [] { return make_cpu_backend(1); });

/// The same with a schedule for every step.
Outcome train_in_turn(
    const Model& model, const Schedules& schedules, const Groups& groups, int steps,
    const MakeBackend& make_backend = [] { return make_cpu_backend(1); },
    const RunOptions& options = {});

/// The same on one CUDA device that is a cluster of all ranks.
Outcome train_in_one_gpu(const Model& model, const Schedules& schedules, const Groups& groups,
                         int steps, const GpuCluster& cluster);
/// The same on a CUDA device for each rank, which send over NCCL.
Outcome train_over_nccl(const Model& model, const Schedule& schedule, const Groups& groups,
                        int steps);

/// |a - b| / |b| over all elements; the largest over all gradients.
double largest_difference(const Outcome& a, const Outcome& b);
/// The same for parameters and optimizer states after the last step.
double largest_state_difference(const Outcome& a, const Outcome& b);

/// Writes few different tokens to `file`, a .bin, and opens it for the model, a tenth of it held out.
Corpus open_small_corpus(const std::filesystem::path& file, const Model& model);

/// A model that divides over 1, 2, 4 and 7 ranks.
Model small_model(DType dtype);
/// The same with `blocks` blocks, all of which have experts.
Model all_moe_model(DType dtype, int blocks);

/// A schedule that was written for any model and ranks, without the streams of kinds that `program`
/// has no op of once its other decisions have been applied.
Schedule with_streams_of(const Program& program, Schedule schedule);

/// Every MoE layer in `forward` and `backward` chunks, exchanges on the inter-node stream.
Schedule chunked(const Model& model, int forward, int backward);
/// Three chunks forward and two backward of layer 1 exchanged by each route that is not flat, a
/// schedule each.
std::vector<Schedule> chunked_by_routes(const Model& model);

}  // namespace moe::test
