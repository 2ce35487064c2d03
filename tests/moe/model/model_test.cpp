#include "moe/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "moe/errors.h"
#include "moe/model/iteration.h"

namespace moe::model_test {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string error_of(const Model& model, int ranks) {
  try {
    check(model, make_groups(ranks, ranks));
  } catch (const Refusal& error) {
    return error.what();
  }
  return "no error";
}

TEST(CheckModel, NamesTheKeyAndWhatWouldDivide) {
  Model model;
  model.name = "tiny";
  model.global_batch = 16;
  model.experts = 8;
  EXPECT_EQ(error_of(model, 4), "no error");
  EXPECT_EQ(
      error_of(model, 3),
      "model tiny: global_batch = 16 does not divide by 3 ranks: expected global_batch = 15 or "
      "global_batch = 18 or --ranks 2 --layout ep=2");
  EXPECT_EQ(error_of(model, 16),
            "model tiny: experts = 8 are fewer than the 16 ranks that they are spread over "
            "(ep): expected --layout dp=2,ep=8 or experts = 16 or --ranks 8 --layout ep=8");
}

std::string error_of(const Model& model, const Layout& layout) {
  try {
    check(model, make_groups(layout));
  } catch (const Refusal& error) {
    return error.what();
  }
  return "no error";
}

TEST(CheckModel, RefusesToCutMoreThanThereIs) {
  Model model;
  model.name = "cut";
  model.global_batch = 16;
  model.heads = 8;
  model.key_value_heads = 2;
  model.d_expert = 36;
  model.shared_experts = 1;
  EXPECT_EQ(error_of(model, {1, 2, 2, 2}), "no error");
  EXPECT_EQ(
      error_of(model, {1, 4, 1, 4}),
      "model cut: key_value_heads = 2 does not divide by 4 ranks that attention is cut over (tp): "
      "expected --layout ep=4,tp=2 or key_value_heads = 4 or --ranks 2 --layout ep=2,tp=2");
  EXPECT_THAT(error_of(model, {1, 1, 8, 1}),
              HasSubstr("d_expert = 36 does not divide by 8 ranks that share an expert"));
  model.key_value_heads = model.heads;
  EXPECT_THAT(error_of(model, {1, 8, 1, 8}),
              HasSubstr("shared_experts times their hidden width = 36 does not divide by 8 ranks"));
}

TEST(CheckModel, RefusesHeadsThatCannotBeGroupedOrTurned) {
  Model model;
  model.heads = 8;
  model.key_value_heads = 3;
  EXPECT_THAT(error_of(model, 1),
              HasSubstr("key_value_heads = 3: expected a divisor of heads = 8"));
  model.key_value_heads.reset();
  model.d_model = 8;
  model.positions = Positions::rotary;
  EXPECT_THAT(error_of(model, 1), HasSubstr("got head_width = 1"));
}

TEST(CheckModel, RefusesLatentsOfWhichNoKeyIsMade) {
  Model model;
  model.own["latent_rank"] = std::int64_t{8};
  EXPECT_THAT(error_of(model, 1), HasSubstr("latent_rank: heads share the columns of keys that "
                                            "turn: expected 0, or positions = \"rotary\""));
  model.positions = Positions::rotary;
  EXPECT_THAT(error_of(model, 1),
              HasSubstr("latent_rank: expected fewer rotary_columns than head_width = 16, or 0, "
                        "got 16 rotary_columns"));
  model.own["rotary_columns"] = std::int64_t{14};
  EXPECT_EQ(error_of(model, 1), "no error");
}

TEST(Model, HasExpertsAfterItsDenseBlocks) {
  Model model;
  model.blocks = 7;
  model.dense_blocks = 3;
  model.moe_every = 2;
  std::vector<int> mixtures;
  for (int block = 0; block < model.blocks; ++block) {
    if (has_experts(model, block)) mixtures.push_back(block);
  }
  EXPECT_EQ(mixtures, (std::vector<int>{4, 6}));
  EXPECT_EQ(blocks_with_experts(model), 2);
  model.moe_every = 1;
  EXPECT_EQ(blocks_with_experts(model), 4);
}

TEST(Model, HasExpertsWhereItsPatternSays) {
  Model model;
  model.blocks = 7;
  model.dense_blocks = 3;
  model.own["block_pattern"] = "eed"s;
  std::string letters;
  for (int block = 0; block < model.blocks; ++block)
    letters += has_experts(model, block) ? 'e' : 'd';
  EXPECT_EQ(letters, "eedeede");
  model.own["block_pattern"] = "d"s;
  EXPECT_EQ(blocks_with_experts(model), 0);
  // Dense blocks are as wide as d_hidden says, experts as d_expert.
  model.own["block_pattern"] = "dde"s;
  model.d_expert = 12;
  model.blocks = 3;
  const Program program = build_iteration(model, make_groups({1, 1, 1, 1}), 0);
  std::map<std::string, std::int64_t> widths;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    if (tensor.name.ends_with("up.weight")) widths[tensor.name] = tensor.columns;
  }
  EXPECT_EQ(widths, (std::map<std::string, std::int64_t>{{"block0.ffn.up.weight", model.d_hidden},
                                                         {"block1.ffn.up.weight", model.d_hidden},
                                                         {"block2.experts.up.weight", 12}}));
}

TEST(CheckModel, RefusesMoreCopiesThanARankCanNumber) {
  Model model;
  model.experts = 64;
  model.choices = 64;
  model.global_batch = std::int64_t{1} << 24;
  model.sequence_length = 4;
  EXPECT_EQ(error_of(model, 1),
            "model : choices = 64 of each of 67108864 tokens of a rank are more than 2147483647 "
            "copies: expected micro_batches = 4 or micro_batches = 8");
  EXPECT_EQ(error_of(model, 4), "no error");
}

}  // namespace
}  // namespace moe::model_test
