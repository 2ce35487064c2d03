// Every gate alone against PyTorch. tests/golden/make_gate_golden.py wrote the file and says how.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/moe/model/gates/gate_program.h"

namespace moe::test::gates_golden_test {
namespace {

const nlohmann::json& gate_golden() {
  static const nlohmann::json loaded =
      nlohmann::json::parse(std::ifstream(MOELAB_SOURCE_DIR "/tests/golden/gates.json"));
  return loaded;
}

GateInputs golden_inputs(const nlohmann::json& expected, Drop drop, DType dtype) {
  const nlohmann::json& file = gate_golden();
  GateInputs inputs;
  Model& model = inputs.model;
  model.name = "golden gate";
  model.gate = expected["gate"];
  model.d_model = file["d_model"];
  model.heads = 1;
  model.experts = file["experts"];
  model.choices = expected["choices"];
  model.capacity_factor = file["capacity_factor"].get<double>();
  model.capacity_groups = file["capacity_groups"];
  model.drop = drop;
  model.auxiliary_weight = file["auxiliary_weight"];
  model.z_loss_weight = file["z_loss_weight"];
  model.own["bias_speed"] = file["bias_speed"].get<double>();
  if (expected.contains("temperature")) {
    model.own["gate_temperature"] = expected["temperature"].get<double>();
  }
  if (expected.contains("adjusted_scores")) {
    model.own["adjusted_scores"] = expected["adjusted_scores"].get<std::string>();
  }
  model.sequence_length = 2;
  model.global_batch = file["tokens"].get<std::int64_t>() / model.sequence_length;
  model.seed = file["seed"];
  model.dtype = dtype;
  inputs.layer = file["layer"];
  inputs.step = file["step"];
  inputs.x = file["x"].get<std::vector<double>>();
  inputs.d_weight = file["d_weight"].get<std::vector<double>>();
  inputs.d_weight_columns = model.experts;
  inputs.ids = file["ids"].get<std::vector<double>>();
  inputs.parameters = expected["parameters"].get<std::map<std::string, std::vector<double>>>();
  return inputs;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

/// Slots of all ranks as the ranks before had kept their copies too.
std::vector<double> joined_slots(const GateResults& results, int experts) {
  std::vector<double> slots, kept(static_cast<std::size_t>(experts));
  std::size_t copy = 0;
  for (const std::vector<double>& of_rank : results.slot) {
    std::vector<double> here(kept.size());
    for (const double slot : of_rank) {
      const auto expert = static_cast<std::size_t>(results.expert.at(copy++));
      slots.push_back(slot < 0 ? -1 : kept[expert] + slot);
      if (slot >= 0) ++here[expert];
    }
    for (std::size_t e = 0; e < kept.size(); ++e) kept[e] += here[e];
  }
  return slots;
}

class GoldenGate : public ::testing::TestWithParam<std::tuple<int, int, DType>> {};

TEST_P(GoldenGate, EqualsPyTorch) {
  const auto& [index, ranks, dtype] = GetParam();
  const nlohmann::json& expected = gate_golden()["cases"][static_cast<std::size_t>(index)];
  const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
  const std::optional<Drop> only = gate_named(expected["gate"].get<std::string>()).facts.drop;
  for (const Drop drop : {Drop::choice, Drop::position, Drop::probability}) {
    SCOPED_TRACE(drop_name(drop));
    const GateResults results = run_gate(golden_inputs(expected, drop, dtype), ranks);
    const std::string order(drop_name(only.value_or(drop)));
    EXPECT_EQ(results.expert, expected["expert"].get<std::vector<double>>());
    EXPECT_EQ(joined_slots(results, gate_golden()["experts"]),
              expected["slots"][order].get<std::vector<double>>());
    EXPECT_EQ(results.demand, expected["demand"].get<std::vector<double>>());
    EXPECT_LT(distance(results.weight, expected["weight"].get<std::vector<double>>()), tolerance);
    EXPECT_NEAR(results.auxiliary_loss, expected.value("auxiliary_loss", 0.0), tolerance);
    EXPECT_NEAR(results.z_loss, expected.value("z_loss", 0.0), 10 * tolerance);
    EXPECT_EQ(results.d_x.empty(), !expected.contains("d_x"));
    if (expected.contains("d_x")) {
      EXPECT_LT(distance(results.d_x, expected["d_x"].get<std::vector<double>>()), tolerance);
      ASSERT_EQ(results.gradients.size(), expected["gradients"].size());
      for (const auto& [name, gradient] : expected["gradients"].items()) {
        EXPECT_LT(distance(results.gradients.at(name), gradient.get<std::vector<double>>()),
                  tolerance)
            << name;
      }
    }
    if (expected.contains("adjusted_bias")) {
      EXPECT_LT(distance(results.parameters.at("gate.expert_bias"),
                         expected["adjusted_bias"].get<std::vector<double>>()),
                tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gates, GoldenGate,
    ::testing::Combine(::testing::Range(0, static_cast<int>(gate_golden()["cases"].size())),
                       ::testing::Values(1, 2), ::testing::Values(DType::f64, DType::f32)),
    [](const auto& info) {
      const int index = std::get<0>(info.param);
      const nlohmann::json& expected = gate_golden()["cases"][static_cast<std::size_t>(index)];
      return expected["gate"].get<std::string>() + "_top" +
             std::to_string(expected["choices"].get<int>()) + "_" +
             std::to_string(std::get<1>(info.param)) + "ranks_" +
             (std::get<2>(info.param) == DType::f64 ? "f64_" : "f32_") + std::to_string(index);
    });

/// A new gate needs no cases from PyTorch: EveryGate checks its gradients by finite differences.
TEST(GoldenGates, AreOfGatesThatThereAre) {
  for (const nlohmann::json& one : gate_golden()["cases"]) {
    const std::string name = one["gate"];
    EXPECT_FALSE(takes_whole_groups(gate_named(name).facts.chooser)) << "gate " << name;
  }
}

}  // namespace
}  // namespace moe::test::gates_golden_test
