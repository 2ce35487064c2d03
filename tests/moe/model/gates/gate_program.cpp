#include "tests/moe/model/gates/gate_program.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "moe/kernels/bf16.h"
#include "moe/run/runner.h"

namespace moe::test {
namespace {

template <class T>
void write_as(Runner& runner, TensorId tensor, const std::vector<double>& values) {
  const std::vector<T> converted(values.begin(), values.end());
  runner.write(tensor, std::as_bytes(std::span(converted)));
}

/// Runners number tensors anew: those of no use are left out. Their names stay.
void write(Runner& runner, const std::string& name, const std::vector<double>& values) {
  const std::vector<Tensor>& tensors = runner.program().tensors;
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) return;
  const Tensor& tensor = *found;
  const auto id = static_cast<TensorId>(found - tensors.begin());
  if (static_cast<std::int64_t>(values.size()) != tensor.rows * tensor.columns) {
    throw std::logic_error(tensor.name + ": values do not fill it");
  }
  if (tensor.dtype == DType::i32) write_as<std::int32_t>(runner, id, values);
  if (tensor.dtype == DType::f32) write_as<float>(runner, id, values);
  if (tensor.dtype == DType::f64) write_as<double>(runner, id, values);
}

template <class T>
std::vector<double> values_as(const View& view) {
  const auto* data = static_cast<const T*>(view.data);
  return {data, data + view.rows * view.columns};
}

std::vector<double> values_of(const View& view) {
  switch (view.dtype) {
    case DType::i32:
      return values_as<std::int32_t>(view);
    case DType::f32:
      return values_as<float>(view);
    case DType::f64:
      return values_as<double>(view);
    case DType::bf16:
      return values_as<Bf16>(view);
    case DType::remainder:
      break;
  }
  throw std::logic_error("values_of: no such dtype");
}

struct BuiltGate {
  Program program;
  GateOutput gate;
  TensorId x = -1, d_weight = -1, d_x = -1, demand = -1;

  const std::string& name(TensorId id) const {
    return program.tensors.at(static_cast<std::size_t>(id)).name;
  }
};

BuiltGate build_gate(const Model& model, const Groups& groups, int rank, int layer) {
  LayerBuilder build(model, groups, rank);
  build.declare_inputs();
  build.block = layer;
  BuiltGate built;
  built.x = build.weight("x", build.tokens, model.d_model);
  built.d_weight = build.weight("d_weight", build.tokens, model.choices);
  built.gate = gate_named(model.gate).build(build, built.x);
  for (const Op& op : build.program().ops) {
    if (binds_routing(op)) built.demand = op.writes[0].tensor;
  }
  build.phase = Phase::backward;
  if (built.gate.backward) built.d_x = built.gate.backward(built.d_weight);
  build.phase = Phase::update;
  for (const LayerBuilder::Update& update : build.updates) update.add_ops();
  built.program = std::move(build.program());
  return built;
}

std::vector<double> part(const std::vector<double>& whole, std::int64_t columns,
                         std::int64_t kept_columns, int rank, int ranks) {
  const std::int64_t rows = std::ssize(whole) / columns / ranks;
  std::vector<double> values;
  for (std::int64_t row = rank * rows; row < (rank + 1) * rows; ++row) {
    for (std::int64_t c = 0; c < kept_columns; ++c) {
      values.push_back(whole.at(static_cast<std::size_t>(row * columns + c)));
    }
  }
  return values;
}

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void add(std::vector<double>& to, const std::vector<double>& values) {
  to.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += values[i];
}

}  // namespace

GateResults run_gate(const GateInputs& inputs, int ranks, const RewriteGate& rewrite) {
  const Model& model = inputs.model;
  const Groups groups = make_groups(ranks, 1);
  std::vector<std::map<std::string, std::vector<double>>> seen(static_cast<std::size_t>(ranks));
  std::vector<BuiltGate> built;
  for (int rank = 0; rank < ranks; ++rank) {
    built.push_back(build_gate(model, groups, rank, inputs.layer));
    if (rewrite) built.back().program = rewrite(std::move(built.back().program));
  }
  const std::string prefix = "block" + std::to_string(inputs.layer) + ".";
  run_local_ranks(ranks, [&](Communicator& world) {
    const auto mine = static_cast<std::size_t>(world.rank);
    const BuiltGate& gate = built[mine];
    const auto backend = make_cpu_backend(1);
    Runner runner(gate.program, groups, *backend, world, {.memory_limit_bytes = 16 << 20});
    const auto of_rank = [&](const std::vector<double>& whole, std::int64_t columns,
                             std::int64_t kept) {
      return part(whole, columns, kept, world.rank, ranks);
    };
    write(runner, "tokens", of_rank(inputs.ids, 1, 1));
    write(runner, "step", {static_cast<double>(inputs.step)});
    write(runner, gate.name(gate.x), of_rank(inputs.x, model.d_model, model.d_model));
    write(runner, gate.name(gate.d_weight),
          of_rank(inputs.d_weight, inputs.d_weight_columns, model.choices));
    for (const Parameter& parameter : gate.program.parameters) {
      if (parameter.value == gate.x || parameter.value == gate.d_weight) continue;
      const std::string& name = gate.name(parameter.value);
      write(runner, name, inputs.parameters.at(name.substr(prefix.size())));
    }
    std::mutex mutex;  // ops end on several streams
    runner.iterate_observed([&](const BoundOp& bound) {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < bound.writes.size(); ++i) {
        const Use& use = bound.op->writes[i];
        const Tensor& tensor = runner.program().tensors[static_cast<std::size_t>(use.tensor)];
        std::vector<double>& all = seen[mine][tensor.name];
        all.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
        const std::vector<double> written = values_of(bound.writes[i]);
        std::copy(written.begin(), written.end(),
                  all.begin() + slice_begin(tensor.rows, use.slice) * tensor.columns);
      }
    });
  });

  GateResults results;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const BuiltGate& gate = built[mine];
    const auto values = [&](TensorId id) { return seen[mine].at(gate.name(id)); };
    append(results.expert, values(gate.gate.expert));
    append(results.weight, values(gate.gate.weight));
    results.slot.push_back(values(gate.gate.slot));
    if (gate.d_x >= 0) append(results.d_x, values(gate.d_x));
    results.demand = values(gate.demand);
    for (const TensorId loss : gate.program.auxiliary_losses) {
      results.auxiliary_loss += values(loss)[0];
    }
    for (const TensorId loss : gate.program.z_losses) results.z_loss += values(loss)[0];
    for (const Parameter& parameter : gate.program.parameters) {
      if (parameter.value == gate.x || parameter.value == gate.d_weight) continue;
      const std::string name = gate.program.tensors.at(static_cast<std::size_t>(parameter.value))
                                   .name.substr(prefix.size());
      if (parameter.optimized) add(results.gradients[name], values(parameter.gradient));
      if (!seen[mine].contains(gate.name(parameter.value))) continue;
      const std::vector<double> updated = values(parameter.value);
      if (rank > 0 && results.parameters.at(name) != updated) {
        throw std::logic_error(name + " differs from rank to rank");
      }
      results.parameters[name] = updated;
    }
  }
  return results;
}

}  // namespace moe::test
