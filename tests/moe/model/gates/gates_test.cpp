#include "moe/model/gates/gates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/train/initialize.h"
#include "tests/moe/train/training_case.h"

namespace moe::gates_test {
namespace {

using test::small_model;

/// A model of one block in double on one rank, whose parameters can be moved by hand.
struct OneRank {
  Model model;
  Groups groups = make_groups(1, 1);
  std::unique_ptr<Communicator> world = make_solo_communicator();
  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Program program;
  std::unique_ptr<Runner> runner;

  OneRank(const std::string& gate, int choices) : model(small_model(DType::f64)) {
    model.gate = gate;
    model.choices = choices;
    if (takes_whole_groups(gate_named(gate).facts.chooser)) model.capacity_factor = 0.75;
    if (gate_named(gate).facts.chooser == Chooser::nobody) model.order = "einsum";
    model.blocks = model.moe_every = 1;
    model.experts = 4;
    model.global_batch = 4;
    model.capacity_groups = 1;
    model.auxiliary_weight = 0.3;
    model.z_loss_weight = 0.1;
    program = build_iteration(model, groups, 0);
    RunOptions options;
    options.memory_limit_bytes = 1 << 28;
    runner = std::make_unique<Runner>(program, groups, *backend, *world, options);
    initialize_parameters(*runner, 3);
    std::vector<std::int32_t> tokens, targets;
    for (std::int64_t i = 0; i < program.tensors[program.tokens.front()].rows; ++i) {
      tokens.push_back(static_cast<std::int32_t>(i * 7 % model.vocabulary));
      targets.push_back(static_cast<std::int32_t>(i * 11 % model.vocabulary));
    }
    runner->write(program.tokens.front(), std::as_bytes(std::span(tokens)));
    runner->write(program.targets.front(), std::as_bytes(std::span(targets)));
    const std::int32_t step = 1;
    runner->write(program.step, std::as_bytes(std::span(&step, 1)));
  }

  /// The gate's parameters that an optimizer moves, and the parameters that make its input.
  std::vector<Parameter> checked() const {
    std::vector<Parameter> found;
    for (const Parameter& parameter : program.parameters) {
      const std::string& name = program.tensors[parameter.value].name;
      const bool of_gate = name.starts_with("block0.gate.") && parameter.optimized;
      if (of_gate || name == "position_table") found.push_back(parameter);
    }
    return found;
  }
  std::vector<double> read(TensorId id) const {
    const Tensor& tensor = program.tensors[id];
    std::vector<double> values(static_cast<std::size_t>(tensor.rows * tensor.columns));
    runner->read(id, std::as_writable_bytes(std::span(values)));
    return values;
  }
  void write(TensorId id, const std::vector<double>& values) {
    runner->write(id, std::as_bytes(std::span(values)));
  }
  /// Cross-entropy and the weighted losses of the gate after a forward pass.
  double loss() {
    runner->reschedule(forward_only(program));
    runner->iterate();
    double sum = read(program.losses.front())[0];
    for (const TensorId id : program.auxiliary_losses) sum += model.auxiliary_weight * read(id)[0];
    for (const TensorId id : program.z_losses) sum += model.z_loss_weight * read(id)[0];
    return sum;
  }
  /// d loss / d value of the elements at `places`, by central differences.
  std::vector<double> numerical(TensorId id, const std::vector<std::size_t>& places) {
    constexpr double kStep = 1e-5;
    std::vector<double> values = read(id), derivatives;
    for (const std::size_t place : places) {
      const double value = values[place];
      values[place] = value + kStep;
      write(id, values);
      const double above = loss();
      values[place] = value - kStep;
      write(id, values);
      derivatives.push_back((above - loss()) / (2 * kStep));
      values[place] = value;
    }
    write(id, values);
    return derivatives;
  }
};

class EveryGate : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

/// Of its parameters and of its input. A gate joins by its line in gates.cpp.
TEST_P(EveryGate, HasTheGradientOfItsLosses) {
  constexpr std::size_t kMostPlaces = 40;
  OneRank one(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const std::vector<Parameter> parameters = one.checked();
  // Larger than they start, so that no choice is near its neighbour.
  for (const Parameter& parameter : parameters) {
    std::vector<double> values = one.read(parameter.value);
    for (double& value : values) value *= 30;
    one.write(parameter.value, values);
  }
  std::vector<std::vector<std::size_t>> places;
  std::vector<std::vector<double>> numerical;
  for (const Parameter& parameter : parameters) {
    const std::size_t size = one.read(parameter.value).size();
    std::vector<std::size_t>& of_parameter = places.emplace_back();
    const std::size_t stride = (size + kMostPlaces - 1) / kMostPlaces;
    for (std::size_t i = 0; i < size; i += stride) of_parameter.push_back(i);
    numerical.push_back(one.numerical(parameter.value, of_parameter));
  }
  // A whole iteration comes last: it ends with an update of the parameters.
  one.runner->reschedule(one.program);
  one.runner->iterate();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::string& name = one.program.tensors[parameters[p].value].name;
    const std::vector<double> gradient = one.read(parameters[p].gradient);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < places[p].size(); ++i) {
      const double error = numerical[p][i] - gradient[places[p][i]];
      difference += error * error;
      norm += numerical[p][i] * numerical[p][i];
    }
    // Losses of about 6 are rounded at 1e-16, and divided by a step of 1e-5.
    const double rounding = 2e-10 * std::sqrt(static_cast<double>(places[p].size()));
    EXPECT_GT(std::sqrt(norm), 1000 * rounding) << name;
    EXPECT_LT(std::sqrt(difference), 1e-6 * std::sqrt(norm) + rounding) << name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Gate& gate : gates()) all.emplace_back(gate.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(
    Gates, EveryGate, ::testing::Combine(::testing::ValuesIn(names()), ::testing::Values(1, 2, 4)),
    [](const auto& instance) {
      return std::get<0>(instance.param) + "_top" + std::to_string(std::get<1>(instance.param));
    });

/// Noise and draws depend on a token's place in the global batch; z-loss and loads of experts are
/// those of the global batch.
TEST(Gates, ComputeInMicroBatchesWhatTheyDoInTheWhole) {
  for (const Gate& gate : gates()) {
    Model model = small_model(DType::f64);
    model.gate = gate.name;
    model.capacity_factor = 0.75;
    if (gate.facts.chooser == Chooser::nobody) model.order = "einsum";
    model.auxiliary_weight = 0;  // the load-balancing loss is of a micro-batch
    if (gate.facts.scores_tokens) model.z_loss_weight = 0.01;
    const test::Outcome whole = test::train_small(model, {}, 1, 2);
    model.micro_batches = 2;
    for (const int ranks : {1, 7}) {
      SCOPED_TRACE(std::string(gate.name) + " on " + std::to_string(ranks) + " ranks");
      const test::Outcome parts = test::train_small(model, {}, ranks, 2);
      for (const std::size_t step : {0, 1}) {
        EXPECT_NEAR(parts.losses[step], whole.losses[step], 1e-12);
        EXPECT_NEAR(parts.z_losses[step], whole.z_losses[step], 1e-11);
      }
      EXPECT_LT(test::largest_difference(parts, whole), 1e-11);
      EXPECT_EQ(parts.dropped, whole.dropped);
    }
  }
}

TEST(Gates, AreFoundByNameAndListedWhereThereIsNone) {
  EXPECT_EQ(gate_named("softmax").name, "softmax");
  try {
    gate_named("softmin");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("no gate \"softmin\"; there are softmax"), 0u);
  }
}

}  // namespace
}  // namespace moe::gates_test
