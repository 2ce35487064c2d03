#include "moe/model/model_figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace moe::model_figures_test {
namespace {

using namespace std::string_literals;

/// A dense block and two with experts.
Model by_hand() {
  Model model;
  model.vocabulary = 10;
  model.sequence_length = 4;
  model.d_model = 6;
  model.heads = 2;
  model.key_value_heads = 1;
  model.blocks = 3;
  model.own["block_pattern"] = "dee"s;
  model.norm = Norm::rms_norm;
  model.biases = false;
  model.expert = "mixtral";
  model.d_hidden = 5;
  model.d_expert = 7;
  model.experts = 4;
  model.choices = 2;
  model.shared_experts = 1;
  model.micro_batches = 2;
  return model;
}

TEST(ModelFigures, AreThoseWorkedByHand) {
  Model model = by_hand();
  // Matrices of attention 6 x (6 + 3 + 3) and 6 x 6, and two norms.
  constexpr int kAttention = 72 + 36, kNorms = 12;
  constexpr int kDense = 3 * 6 * 5, kExpert = 3 * 6 * 7, kGate = 6 * 4;
  constexpr int kTable = 60, kPositions = 24, kFinalNorm = 6, kHead = 60;
  constexpr int kOutside = kTable + kPositions + kFinalNorm + kHead;
  constexpr int kBlocks = 3 * (kAttention + kNorms) + kDense;
  const ModelFigures figures = figures_of(model);
  EXPECT_EQ(figures.parameters, kOutside + kBlocks + 2 * (kGate + 5 * kExpert));
  EXPECT_EQ(figures.active_parameters, kOutside + kBlocks + 2 * (kGate + 3 * kExpert));
  // Two FLOPs for every element of a matrix that a token passes; two products of a query with the
  // keys, and the probabilities with the values, of half of 4 tokens and 6 columns.
  constexpr int kMatrices = 3 * kAttention + kDense + 2 * (kGate + 3 * kExpert) + kHead;
  EXPECT_EQ(figures.token_flops, 3 * (2 * kMatrices + 3 * 2 * (2 * 2 * 6)));

  model.head = Head::tied;
  EXPECT_EQ(figures_of(model).parameters, figures.parameters - kHead);
  EXPECT_EQ(figures_of(model).token_flops, figures.token_flops);
  model.global_batch = 16;
  EXPECT_EQ(figures_of(model).token_flops, figures.token_flops);
}

TEST(ModelFigures, CountNoCopiesBeyondCapacityAndNoBiasesThatEvenLoads) {
  Model model = by_hand();
  const ModelFigures dropless = figures_of(model);
  model.capacity_factor = 0.5;
  model.capacity_groups = 4;
  EXPECT_EQ(figures_of(model).token_flops, dropless.token_flops - 3 * 2 * 2 * (3 * 6 * 7));
  EXPECT_EQ(figures_of(model).active_parameters, dropless.active_parameters);
  model.gate = "bias_adjusted";
  EXPECT_EQ(figures_of(model).parameters, dropless.parameters);
}

/// The parameters of the classes of transformers 5.24 with the models' published configurations, on
/// the meta device.
TEST(ModelFigures, OfShippedModelsAreThoseOfTransformers) {
  const std::map<std::string, std::int64_t> published{
      {"deepseek-moe-16b", 16'375'728'128}, {"glm-4.5", 352'797'814'784},
      {"glm-4.5-air", 106'852'245'504},     {"gpt-oss-120b", 116'829'156'672},
      {"gpt-oss-20b", 20'914'757'184},      {"minimax-m2", 228'689'748'992},
      {"mixtral-8x22b", 140'620'634'112},   {"mixtral-8x7b", 46'702'792'704},
      {"olmoe-1b-7b", 6'919'161'856},       {"qwen1.5-moe-a2.7b", 14'315'784'192},
      {"qwen2-57b-a14b", 57'408'658'944},   {"qwen3-235b-a22b", 235'093'634'560},
      {"qwen3-30b-a3b", 30'532'122'624},    {"qwen3-coder-480b-a35b", 480'154'875'392}};
  for (const auto& [name, parameters] : published) {
    const Model model = load_model(find_input(name, "experiments/models"));
    EXPECT_EQ(figures_of(model).parameters, parameters) << name;
  }
}

}  // namespace
}  // namespace moe::model_figures_test
