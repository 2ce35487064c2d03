#include "tests/moe/train/training_case.h"

#include <cmath>
#include <mutex>

#include "moe/model/iteration.h"
#include "moe/train/initialize.h"

namespace moe::testing {
namespace {

std::vector<double> read_doubles(const Runner& runner, TensorId id) {
  const Tensor& tensor = runner.program().tensors[id];
  const auto count = static_cast<std::size_t>(tensor.rows * tensor.columns);
  std::vector<double> values(count);
  if (tensor.dtype == DType::f64) {
    runner.read(id, std::as_writable_bytes(std::span(values)));
  } else {
    std::vector<float> floats(count);
    runner.read(id, std::as_writable_bytes(std::span(floats)));
    values.assign(floats.begin(), floats.end());
  }
  return values;
}

/// A text with some structure: the next token mostly follows from the last.
std::int32_t token_at(std::int64_t step, std::int64_t sequence, std::int64_t place,
                      std::int64_t vocabulary) {
  const std::int64_t start = (step * 7 + sequence * 13) % vocabulary;
  return static_cast<std::int32_t>((start + place * (1 + sequence % 3)) % vocabulary);
}

/// `rank` of the `ranks` of a pipeline stage.
void write_batch(Runner& runner, const Model& model, int rank, int ranks, std::int32_t step) {
  const Program& program = runner.program();
  const std::int64_t count = model.global_batch / model.micro_batches / ranks;
  for (int part = 0; part < model.micro_batches; ++part) {
    const std::int64_t first = (part * ranks + rank) * count;
    std::vector<std::int32_t> tokens, targets;
    for (std::int64_t s = first; s < first + count; ++s) {
      for (std::int64_t i = 0; i < model.sequence_length; ++i) {
        tokens.push_back(token_at(step, s, i, model.vocabulary));
        targets.push_back(token_at(step, s, i + 1, model.vocabulary));
      }
    }
    const auto micro_batch = static_cast<std::size_t>(part);
    const TensorId to_tokens = program.tokens[micro_batch],
                   to_targets = program.targets[micro_batch];
    if (to_tokens >= 0) runner.write(to_tokens, std::as_bytes(std::span(tokens)));
    if (to_targets >= 0) runner.write(to_targets, std::as_bytes(std::span(targets)));
  }
  runner.write(program.step, std::as_bytes(std::span(&step, 1)));
}

/// Puts a rank's part of a gradient into the whole.
void join(std::map<std::string, std::vector<double>>& gradients, const Program& program,
          const Parameter& parameter, const std::vector<double>& part) {
  const Tensor& tensor = program.tensors[parameter.value];
  std::vector<double>& whole = gradients[tensor.name];
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto place = static_cast<std::size_t>(
        whole_element(parameter.shard, tensor.columns, static_cast<std::int64_t>(i)));
    if (place >= whole.size()) whole.resize(place + 1);
    whole[place] = part[i];
  }
}

}  // namespace

Outcome train_small(const Model& model, const Schedule& schedule, int ranks, int steps) {
  return train_small(model, schedule, Layout{1, ranks, 1}, steps);
}

Outcome train_small(const Model& model, const Schedule& schedule, const Layout& layout, int steps,
                    const MakeBackend& make_backend) {
  return train_small(model, schedule, make_groups(layout), steps, make_backend);
}

Outcome train_small(const Model& model, const Schedule& schedule, const Groups& groups, int steps,
                    const MakeBackend& make_backend) {
  const int ranks = groups.ranks;
  Outcome outcome;
  outcome.losses.assign(steps, 0);
  outcome.auxiliary_losses.assign(steps, 0);
  outcome.z_losses.assign(steps, 0);
  outcome.planned_peaks.resize(ranks);
  outcome.touched_peaks.resize(ranks);
  outcome.timeline.ranks.resize(ranks);
  // Summed over ranks in rank order afterwards, whichever thread comes first.
  std::vector<std::vector<double>> losses(ranks, std::vector<double>(steps)), auxiliary = losses,
                                                                              z = losses;
  std::mutex mutex;
  run_local_ranks(ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_backend();
    RunOptions options;
    options.memory_limit_bytes = std::int64_t{1} << 30;
    Runner runner(apply(build_iteration(model, groups, world.rank), schedule), groups, *backend,
                  world, options);
    const Program& program = runner.program();
    initialize_parameters(runner, model.seed);
    for (int step = 0; step < steps; ++step) {
      write_batch(runner, model, rank_in_stage(groups, world.rank), stage_ranks(groups), step + 1);
      IterationResult result = runner.iterate(true);
      const std::lock_guard lock(mutex);
      for (const TensorId loss : program.losses) {
        losses[world.rank][step] += read_doubles(runner, loss)[0];
      }
      for (const TensorId loss : program.auxiliary_losses) {
        auxiliary[world.rank][step] += read_doubles(runner, loss)[0] / program.micro_batches;
      }
      for (const TensorId loss : program.z_losses) {
        z[world.rank][step] += read_doubles(runner, loss)[0];
      }
      if (step == 0) {
        for (const Parameter& parameter : program.parameters) {
          if (index_in_group(groups, parameter.replicas, world.rank) == 0) {
            join(outcome.gradients, program, parameter, read_doubles(runner, parameter.gradient));
          }
        }
      }
      outcome.planned_peaks[world.rank] = result.planned_peak_bytes;
      outcome.touched_peaks[world.rank] = result.touched_peak_bytes.value();
      outcome.timeline.ranks[world.rank] = std::move(result.spans);
      if (step + 1 < steps || rank_in_stage(groups, world.rank) > 0) continue;
      outcome.dropped += result.dropped;
      for (LayerRouting& layer : result.routing.layers) {
        outcome.routing.layers.push_back(std::move(layer));
      }
    }
  });
  for (int rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < steps; ++step) {
      outcome.losses[step] += losses[rank][step];
      outcome.auxiliary_losses[step] += auxiliary[rank][step];
      outcome.z_losses[step] += z[rank][step];
    }
  }
  return outcome;
}

double largest_difference(const Outcome& a, const Outcome& b) {
  double largest = a.gradients.size() == b.gradients.size() ? 0 : INFINITY;
  for (const auto& [name, values] : b.gradients) {
    const std::vector<double>& others = a.gradients.at(name);
    if (others.size() != values.size()) return INFINITY;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      difference += (others[i] - values[i]) * (others[i] - values[i]);
      norm += values[i] * values[i];
    }
    if (norm > 0) {
      largest = std::max(largest, std::sqrt(difference / norm));
    } else if (difference > 0) {
      largest = INFINITY;
    }
  }
  return largest;
}

Model small_model(DType dtype) {
  Model model;
  model.name = "small";
  model.vocabulary = 32;
  model.sequence_length = 8;
  model.d_model = 16;
  model.d_hidden = 24;
  model.heads = 2;
  model.blocks = 2;
  model.moe_every = 2;
  model.experts = 28;
  model.choices = 2;
  model.global_batch = 28;
  model.capacity_groups = 28;
  model.seed = 5;
  model.dtype = dtype;
  return model;
}

Schedule chunked(const Model& model, int forward, int backward) {
  Schedule schedule{"chunked", {StreamAssignment{"all_to_all", Stream::inter_node}}};
  for (int block = 0; block < model.blocks; ++block) {
    if (model.moe_every > 0 && (block + 1) % model.moe_every == 0) {
      schedule.decisions.push_back(PipelineSplit{block, Phase::forward, forward});
      schedule.decisions.push_back(PipelineSplit{block, Phase::backward, backward});
    }
  }
  return schedule;
}

}  // namespace moe::testing
