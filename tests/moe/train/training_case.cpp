#include "tests/moe/train/training_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "moe/communicator/communicator.h"
#include "moe/communicator/local.h"
#include "moe/kernels/bf16.h"
#include "moe/model/iteration.h"
#include "moe/train/change_program.h"
#include "moe/train/initialize.h"
#include "moe/train/shared_states.h"

namespace moe::test {
namespace {

std::vector<double> read_doubles(const Runner& runner, TensorId id) {
  const Tensor& tensor = runner.program().tensors[id];
  const auto count = static_cast<std::size_t>(tensor.rows * tensor.columns);
  std::vector<double> values(count);
  if (tensor.dtype == DType::f64) {
    runner.read(id, std::as_writable_bytes(std::span(values)));
  } else if (tensor.dtype == DType::bf16) {
    std::vector<Bf16> narrow(count);
    runner.read(id, std::as_writable_bytes(std::span(narrow)));
    values.assign(narrow.begin(), narrow.end());
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
  const std::int64_t length = model.sequence_length;
  const std::int64_t count = model.global_batch / model.micro_batches * length / ranks;
  for (int part = 0; part < model.micro_batches; ++part) {
    const std::int64_t first = (part * ranks + rank) * count;
    std::vector<std::int32_t> tokens, targets;
    for (std::int64_t t = first; t < first + count; ++t) {
      tokens.push_back(token_at(step, t / length, t % length, model.vocabulary));
      targets.push_back(token_at(step, t / length, t % length + 1, model.vocabulary));
    }
    const auto micro_batch = static_cast<std::size_t>(part);
    const TensorId to_tokens = program.tokens[micro_batch],
                   to_targets = program.targets[micro_batch];
    if (to_tokens >= 0) runner.write(to_tokens, std::as_bytes(std::span(tokens)));
    if (to_targets >= 0) runner.write(to_targets, std::as_bytes(std::span(targets)));
  }
  runner.write(program.step, std::as_bytes(std::span(&step, 1)));
}

/// The masters that a parameter's values make with the remainders that the rank has.
std::vector<double> read_masters(const Runner& runner, const Parameter& parameter) {
  const Tensor& tensor = runner.program().tensors[parameter.remainder];
  std::vector<Bf16Remainder> remainders(static_cast<std::size_t>(tensor.rows * tensor.columns));
  runner.read(parameter.remainder, std::as_writable_bytes(std::span(remainders)));
  const std::vector<double> values = read_doubles(runner, parameter.value);
  const ElementRange held =
      held_elements(runner.program(), parameter, parameter.remainder, runner.rank());
  std::vector<double> masters(remainders.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(held.count); ++i) {
    const double value = values[static_cast<std::size_t>(held.begin) + i];
    masters[i] = float_of(Bf16(static_cast<float>(value)), remainders[i]);
  }
  return masters;
}

/// Reads a tensor that has the shape of a parameter, masters in the place of remainders.
TensorPart read_part(const Runner& runner, const Parameter& parameter, TensorId id,
                     const std::string& name, bool first_replica) {
  const Program& program = runner.program();
  const bool masters = id >= 0 && id == parameter.remainder;
  TensorPart part{name, {}, {}, first_replica};
  part.values = masters ? read_masters(runner, parameter) : read_doubles(runner, id);
  ElementRange held = held_elements(program, parameter, id, runner.rank());
  if (parameter.shares_state && program.tensors[id].role != Role::parameter) {
    // Of gradients too a rank has the sum of its share alone.
    part.first_replica = true;
    held = held_elements(program, parameter, parameter.optimizer_state.front(), runner.rank());
    if (id == parameter.gradient) {
      part.values.erase(part.values.begin(), part.values.begin() + held.begin);
    }
    part.values.resize(static_cast<std::size_t>(held.count));
  }
  const std::int64_t of_blocks = without_empty_blocks(program, parameter, held).count;
  for (std::int64_t i = of_blocks; i < held.count; ++i) {
    EXPECT_EQ(part.values[static_cast<std::size_t>(i)], 0) << name << ": in an empty block";
  }
  held.count = of_blocks;
  part.values.resize(static_cast<std::size_t>(of_blocks));
  const std::int64_t columns = program.tensors[parameter.value].columns;
  for (std::int64_t i = 0; i < held.count; ++i) {
    part.places.push_back(whole_element(parameter.shard, columns, held.begin + i));
  }
  return part;
}

/// Puts a rank's part of a gradient into the whole.
void join(std::map<std::string, std::vector<double>>& gradients, const TensorPart& part) {
  std::vector<double>& whole = gradients[part.name];
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    const auto place = static_cast<std::size_t>(part.places[i]);
    if (place >= whole.size()) whole.resize(place + 1);
    whole[place] = part.values[i];
  }
}

using Joined = std::map<std::string, std::vector<double>>;

double largest_of(const Joined& a, const Joined& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (const auto& [name, values] : b) {
    const std::vector<double>& others = a.at(name);
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

void add(std::vector<double>& sums, const std::vector<double>& values) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
}

}  // namespace

Outcome train_small(const Model& model, const Schedule& schedule, int ranks, int steps) {
  return train_small(model, schedule, Layout{1, ranks, 1}, steps);
}

Outcome train_small(const Model& model, const Schedule& schedule, const Layout& layout, int steps,
                    const MakeBackend& make_backend) {
  return train_small(model, schedule, make_groups(layout), steps, make_backend);
}

RankOutcome train_rank(const Model& model, const Schedules& schedules, const Groups& groups,
                       int steps, Communicator& world, Backend& backend, RunOptions options) {
  RankOutcome outcome;
  for (auto* losses : {&outcome.losses, &outcome.auxiliary_losses, &outcome.z_losses}) {
    losses->resize(static_cast<std::size_t>(steps));
  }
  if (options.memory_limit_bytes == 0) options.memory_limit_bytes = std::int64_t{1} << 30;
  const Program iteration = build_iteration(model, groups, world.rank);
  Runner runner(apply(iteration, schedules.at(0)), groups, backend, world, options);
  initialize_parameters(runner, model.seed);
  const SharedStates states(groups, world, options.time_limit_s);
  const auto first = [&](const Parameter& parameter) {
    return index_in_group(groups, parameter.replicas, world.rank) == 0;
  };
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
    if (step > 0 && step < schedules.size()) {
      Program next = apply(iteration, schedules[step]);
      change_program(runner, std::move(next), states, world, options.time_limit_s);
    }
    const Program& program = runner.program();
    write_batch(runner, model, rank_in_stage(groups, world.rank), stage_ranks(groups),
                static_cast<std::int32_t>(step + 1));
    outcome.last = runner.iterate(true);
    outcome.dropped.push_back(outcome.last.dropped);
    outcome.time_error_s = backend.time_error_s();
    for (const TensorId loss : program.losses) {
      outcome.losses[step] += read_doubles(runner, loss)[0];
    }
    for (const TensorId loss : program.auxiliary_losses) {
      outcome.auxiliary_losses[step] += read_doubles(runner, loss)[0] / program.micro_batches;
    }
    for (const TensorId loss : program.z_losses) {
      outcome.z_losses[step] += read_doubles(runner, loss)[0];
    }
    if (!program.gradient_norms.empty()) {
      outcome.gradient_norms.push_back(read_doubles(runner, program.gradient_norms.front())[0]);
    }
    if (step > 0) continue;
    for (const Parameter& parameter : program.parameters) {
      outcome.gradients.push_back(read_part(runner, parameter, parameter.gradient,
                                            program.tensors[parameter.value].name,
                                            first(parameter)));
    }
  }
  const Program& program = runner.program();
  for (const Parameter& parameter : program.parameters) {
    std::vector<TensorId> tensors{parameter.value, parameter.gradient};
    tensors.insert(tensors.end(), parameter.optimizer_state.begin(),
                   parameter.optimizer_state.end());
    for (const TensorId id : tensors) {
      outcome.state.push_back(
          read_part(runner, parameter, id, program.tensors[id].name, first(parameter)));
    }
  }
  return outcome;
}

Outcome train_small(const Model& model, const Schedule& schedule, const Groups& groups, int steps,
                    const MakeBackend& make_backend) {
  return train_in_turn(model, {schedule}, groups, steps, make_backend);
}

namespace {

Outcome join_ranks(std::vector<RankOutcome> ranks, const Groups& groups, int steps) {
  Outcome outcome;
  outcome.losses.assign(steps, 0);
  outcome.dropped.assign(steps, 0);
  outcome.auxiliary_losses = outcome.z_losses = outcome.losses;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    RankOutcome& one = ranks[static_cast<std::size_t>(rank)];
    add(outcome.losses, one.losses);
    add(outcome.auxiliary_losses, one.auxiliary_losses);
    add(outcome.z_losses, one.z_losses);
    if (rank == 0) outcome.gradient_norms = one.gradient_norms;
    for (const TensorPart& part : one.gradients) {
      if (part.first_replica) join(outcome.gradients, part);
    }
    for (const TensorPart& part : one.state) {
      if (part.first_replica) join(outcome.state, part);
    }
    outcome.planned_peaks.push_back(one.last.planned_peak_bytes);
    outcome.touched_peaks.push_back(one.last.touched_peak_bytes.value());
    outcome.planned_host_peaks.push_back(one.last.planned_host_peak_bytes);
    outcome.touched_host_peaks.push_back(one.last.touched_host_peak_bytes.value());
    outcome.timeline.ranks.push_back(std::move(one.last.spans));
    outcome.time_error_s = std::max(outcome.time_error_s, one.time_error_s);
    if (rank_in_stage(groups, rank) > 0) continue;
    for (std::size_t step = 0; step < one.dropped.size(); ++step) {
      outcome.dropped.at(step) += one.dropped[step];
    }
    std::ranges::move(one.last.routing.layers, std::back_inserter(outcome.routing.layers));
  }
  return outcome;
}

}  // namespace

Outcome train_in_turn(const Model& model, const Schedules& schedules, const Groups& groups,
                      int steps, const MakeBackend& make_backend, const RunOptions& options) {
  std::vector<RankOutcome> ranks(static_cast<std::size_t>(groups.ranks));
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_backend();
    ranks[static_cast<std::size_t>(world.rank)] =
        train_rank(model, schedules, groups, steps, world, *backend, options);
  });
  return join_ranks(std::move(ranks), groups, steps);
}

Outcome train_in_one_gpu(const Model& model, const Schedules& schedules, const Groups& groups,
                         int steps, const GpuCluster& cluster) {
  std::vector<RankOutcome> ranks(static_cast<std::size_t>(groups.ranks));
  run_local_ranks(cluster.node_of, [&](Communicator& world) {
    std::vector<int> all;
    for (int rank = 0; rank < world.size; ++rank) all.push_back(rank);
    const std::unique_ptr<Backend> backend = make_cuda_backend(0, 60, {world.rank, world.size});
    const auto device = make_gpu_cluster_communicator(world.split(all), cluster, 0);
    const RunOptions options{.memory_limit_bytes = std::int64_t{1} << 26,
                             .device_world = device.get()};
    ranks[static_cast<std::size_t>(world.rank)] =
        train_rank(model, schedules, groups, steps, world, *backend, options);
  });
  return join_ranks(std::move(ranks), groups, steps);
}

Outcome train_over_nccl(const Model& model, const Schedule& schedule, const Groups& groups,
                        int steps) {
  std::vector<RankOutcome> ranks(static_cast<std::size_t>(groups.ranks));
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cuda_backend(world.rank);
    const auto nccl = make_nccl_communicator(world, *backend, world.rank);
    ranks[static_cast<std::size_t>(world.rank)] =
        train_rank(model, {schedule}, groups, steps, world, *backend, {.device_world = nccl.get()});
  });
  return join_ranks(std::move(ranks), groups, steps);
}

double largest_difference(const Outcome& a, const Outcome& b) {
  return largest_of(a.gradients, b.gradients);
}

double largest_state_difference(const Outcome& a, const Outcome& b) {
  return largest_of(a.state, b.state);
}

Corpus open_small_corpus(const std::filesystem::path& file, const Model& model) {
  std::vector<std::uint16_t> tokens;
  for (int i = 0; i < 4000; ++i) tokens.push_back(static_cast<std::uint16_t>((i * i + i / 7) % 29));
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()),
             static_cast<std::streamsize>(2 * tokens.size()));
  return open_corpus({file}, {model.vocabulary, model.sequence_length, 0.1});
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

Model all_moe_model(DType dtype, int blocks) {
  Model model = small_model(dtype);
  model.blocks = blocks;
  model.moe_every = 1;
  return model;
}

Schedule with_streams_of(const Program& program, Schedule schedule) {
  const auto moves = [](const Decision& decision) {
    return std::holds_alternative<StreamAssignment>(decision);
  };
  Schedule others = schedule;
  std::erase_if(others.decisions, moves);
  std::set<std::string_view> kinds;
  const Program made = apply(program, others);
  for (const Op& op : made.ops) kinds.insert(kind_name(op));
  std::erase_if(schedule.decisions, [&](const Decision& decision) {
    return moves(decision) && !kinds.contains(std::get<StreamAssignment>(decision).kind);
  });
  return schedule;
}

Schedule chunked(const Model& model, int forward, int backward) {
  Schedule schedule{"chunked", {StreamAssignment{"all_to_all", Stream::inter_node}}};
  for (int block = 0; block < model.blocks; ++block) {
    if (has_experts(model, block)) {
      schedule.decisions.push_back(PipelineSplit{block, Phase::forward, forward});
      schedule.decisions.push_back(PipelineSplit{block, Phase::backward, backward});
    }
  }
  return schedule;
}

std::vector<Schedule> chunked_by_routes(const Model& model) {
  std::vector<Schedule> schedules;
  for (const Route route : {Route::one_d, Route::two_d, Route::pairwise}) {
    schedules.push_back(chunked(model, 3, 2));
    schedules.back().decisions.push_back(Exchange{1, Phase::forward, {}, route, 2});
    schedules.back().decisions.push_back(Exchange{1, Phase::backward, {}, route, 1});
  }
  return schedules;
}

}  // namespace moe::test
