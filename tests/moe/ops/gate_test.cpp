#include "moe/ops/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <span>

#include "tests/moe/model/gates/gate_program.h"

namespace moe::ops_gate_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Cuts the gate's choice into so many parts, one after the other.
Program cut_gate(Program program, int parts) {
  std::vector<Op> ops;
  for (const Op& op : program.ops) {
    if (!std::holds_alternative<SelectExperts>(op.kind)) {
      ops.push_back(op);
      continue;
    }
    for (int i = 0; i < parts; ++i) {
      Op part = op;
      part.part = {i, parts};
      const OpFacts& facts = facts_of(op);
      for (std::size_t at = 0; at < part.reads.size(); ++at) {
        if (facts.reads.at(at) == Cut::rows) part.reads[at].slice = part.part;
      }
      for (std::size_t at = 0; at < part.writes.size(); ++at) {
        if (facts.writes.at(at) == Cut::rows) part.writes[at].slice = part.part;
      }
      if (i + 1 < parts) {  // the exchange of counts uses those of the last part
        program.tensors.push_back(program.tensors[static_cast<std::size_t>(part.writes[3].tensor)]);
        part.writes[3].tensor = static_cast<TensorId>(program.tensors.size()) - 1;
      }
      ops.push_back(i > 0 ? accumulating(std::move(part)) : std::move(part));
    }
  }
  program.ops = std::move(ops);
  validate(program);
  return program;
}

std::vector<double> normals(std::mt19937& random, std::size_t count) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

/// Divides into 1 to 8 equal parts, on one rank or two.
constexpr int kTokens = 2 * 840;

/// The slots that a rank has in parts, given its slots [tokens, k] in the whole: each part numbers
/// its own copies.
std::vector<double> slots_in_parts(const std::vector<double>& whole,
                                   std::span<const double> experts, int parts) {
  std::vector<double> slots = whole;
  std::map<double, int> before, kept;  // by expert
  const std::size_t part = whole.size() / static_cast<std::size_t>(parts);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i % part == 0) before = kept;
    if (whole[i] < 0) continue;
    slots[i] -= before[experts[i]];
    ++kept[experts[i]];
  }
  return slots;
}

test::GateInputs random_inputs(std::mt19937& random, const Gate& gate, int choices, Drop drop) {
  test::GateInputs inputs;
  Model& model = inputs.model;
  model.gate = gate.name;
  model.drop = drop;
  model.d_model = 4;
  model.heads = 1;
  model.experts = 6;
  model.choices = choices;
  model.sequence_length = 10;
  model.global_batch = kTokens / 10;
  model.capacity_factor = 0.6;
  model.capacity_groups = 4;  // parts begin within groups
  model.dtype = DType::f64;
  inputs.x = normals(random, kTokens * 4);
  inputs.d_weight = normals(random, kTokens * 6);
  inputs.d_weight_columns = 6;
  for (int i = 0; i < kTokens; ++i) inputs.ids.push_back(static_cast<double>(random() % 40));
  inputs.parameters = {{"gate.weight", normals(random, gate.name == "x_moe" ? 6 * 3 : 4 * 6)},
                       {"gate.noise.weight", normals(random, 4 * 6)},
                       {"gate.projection.weight", normals(random, 4 * 3)},
                       {"gate.log_temperature", {0.1}},
                       {"gate.expert_bias", normals(random, 6)}};
  return inputs;
}

/// Decisions that cut gates rely on this. Brute force over gates, k, orders of dropping, parts and
/// ranks.
TEST(SelectExperts, InPartsOneAfterTheOtherIsTheWhole) {
  std::mt19937 random(8);
  int cut = 0;
  for (const Gate& gate : gates()) {
    for (const int choices : {1, 2, 5}) {
      for (const Drop drop : {Drop::choice, Drop::position}) {
        if (takes_whole_groups(gate.facts.chooser) || gate.facts.drop == Drop::probability ||
            (drop == Drop::choice && choices > 1)) {
          continue;
        }
        const test::GateInputs inputs = random_inputs(random, gate, choices, drop);
        for (const int ranks : {1, 2}) {
          const test::GateResults whole = test::run_gate(inputs, ranks);
          for (int parts = 2; parts <= 8; ++parts) {
            const test::GateResults results = test::run_gate(inputs, ranks, [&](Program program) {
              return cut_gate(std::move(program), parts);
            });
            EXPECT_EQ(results.expert, whole.expert);
            for (std::size_t rank = 0; rank < whole.slot.size(); ++rank) {
              const auto& slots = whole.slot[rank];
              const std::span<const double> experts(whole.expert);
              EXPECT_EQ(
                  results.slot[rank],
                  slots_in_parts(slots, experts.subspan(rank * slots.size(), slots.size()), parts))
                  << gate.name << ", " << parts << " parts";
            }
            EXPECT_EQ(results.demand, whole.demand);
            EXPECT_EQ(results.weight, whole.weight);
            EXPECT_EQ(results.d_x, whole.d_x);
            ++cut;
          }
        }
      }
    }
  }
  EXPECT_EQ(cut, 8 * 4 * 2 * 7);  // gates, (k, drop), ranks, parts
}

TEST(SelectExperts, SaysWhyItCannotBeCutAndWhatCould) {
  SelectExperts select{.experts = 4, .choices = 2, .capacity = 3, .gate = "sigmoid"};
  EXPECT_THAT(select.refusal_to_cut()->what(),
              HasSubstr("gate \"sigmoid\" with choices = 2 and drop = \"choice\" needs the whole "
                        "batch: expected drop = \"position\", choices = 1 or"));
  select.drop = Drop::probability;
  EXPECT_THAT(select.refusal_to_cut()->what(), HasSubstr("expected drop = \"position\" or"));
  select.drop = Drop::position;
  EXPECT_FALSE(select.refusal_to_cut());
  select.drop = Drop::choice;
  select.choices = 1;
  EXPECT_FALSE(select.refusal_to_cut());
  select = {.experts = 4, .choices = 2, .drop = Drop::probability};
  EXPECT_FALSE(select.refusal_to_cut()) << "dropless";
}

TEST(SelectExperts, OfAGateThatCannotBeCutSaysSoInItsProgram) {
  std::mt19937 random(8);
  for (const Gate& gate : gates()) {
    if (takes_whole_groups(gate.facts.chooser)) continue;  // and have no such op
    for (const Drop drop : {Drop::choice, Drop::position}) {
      std::optional<Refusal> refusal;
      test::run_gate(random_inputs(random, gate, 2, drop), 1, [&](Program program) {
        for (const Op& op : program.ops) {
          if (const auto* select = std::get_if<SelectExperts>(&op.kind)) {
            refusal = select->refusal_to_cut();
          }
        }
        return program;
      });
      if (!gate.facts.drop && drop == Drop::position) {
        EXPECT_FALSE(refusal);
      } else {
        ASSERT_TRUE(refusal);
        EXPECT_THAT(refusal->what(), HasSubstr("gate \"" + std::string(gate.name) + "\""));
      }
    }
  }
}

}  // namespace
}  // namespace moe::ops_gate_test
