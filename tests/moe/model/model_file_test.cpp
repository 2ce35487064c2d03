#include "tests/moe/model/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/model/model_json.h"

namespace moe::model_file_test {
namespace {

using test::kGood;
using test::ModelFile;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(ModelFile, GivesWhatIsNotWrittenItsDefault) {
  const Model model = load(kGood);
  EXPECT_EQ(model.name, "x");
  EXPECT_EQ(model.vocabulary, 256);
  EXPECT_EQ(model.d_hidden, 32);
  EXPECT_EQ(model.choices, 2);
  EXPECT_FALSE(model.capacity_factor);
  EXPECT_EQ(model.optimizer, Optimizer::adam);
  EXPECT_EQ(model.dtype, DType::f32);
  EXPECT_EQ(key_value_heads(model), 2);
  EXPECT_EQ(expert_hidden(model), 32);
  EXPECT_EQ(model.norm, Norm::layer_norm);
  EXPECT_EQ(model.positions, Positions::learned);
  EXPECT_EQ(model.head, Head::untied);
  EXPECT_TRUE(model.biases);
}

TEST_F(ModelFile, ReadsEveryKey) {
  const Model model = load(R"(
name = "all"
[model]
vocabulary = 100
sequence_length = 10
d_model = 12
d_hidden = 14
heads = 3
blocks = 6
key_value_heads = 1
norm = "rms_norm"
norm_epsilon = 0.25
positions = "rotary"
rotary_base = 1000
head = "tied"
biases = false
[moe]
dense_blocks = 1
moe_every = 3
activation = "relu"
d_expert = 21
shared_experts = 2
experts = 7
choices = 1
capacity_factor = 2
capacity_groups = 15
drop = "position"
auxiliary_weight = 0.5
z_loss_weight = 0.001
order = "einsum"
[moe.hooks]
before_moe_start = "jitter"
after_combine = "round_bf16"
[training]
global_batch = 15
micro_batches = 3
precision = "f64"
optimizer = "sgd"
learning_rate = 0.25
momentum = 0.125
seed = 9
)");
  EXPECT_EQ(
      to_json(model),
      R"({"name":"all","vocabulary":100,"sequence_length":10,"d_model":12,"d_hidden":14,)"
      R"("heads":3,"key_value_heads":1,"head_width":4,"blocks":6,"norm":"rms_norm",)"
      R"("norm_epsilon":0.25,"query_key_norm":"none","positions":"rotary","rotary_base":1000.0,)"
      R"("rotary_pattern":"t","query_key_norm_turned":false,)"
      R"("rotary_columns":4,"rotary_scaling":"none","rotary_factor":1.0,)"
      R"("rotary_trained_length":4096,"rotary_slow_turns":1.0,"rotary_fast_turns":32.0,)"
      R"("rotary_magnitude":1.0,"rotary_whole_pairs":true,)"
      R"("window":0,"window_pattern":"s","window_rotary_base":1000.0,)"
      R"("window_rotary_scaling":true,"attention_sinks":false,)"
      R"("attention_scale":"head_width","value_width":4,"latent_rank":0,"latent_query_rank":0,)"
      R"("latent_norm_epsilon":0.25,)"
      R"("norm_place":"before","embedding_factor":1.0,"residual_factor":1.0,"logits_divisor":1.0,)"
      R"("head":"tied","shard_vocabulary":false,"biases":false,"attention_biases":"none",)"
      R"("block_pattern":"moe_every","dense_blocks":1,"moe_every":3,"experts":7,)"
      R"("choices":1,)"
      R"("gate":"softmax","gate_bias":false,"expert_groups":1,"best_groups":1,)"
      R"("group_experts_counted":1,"normalize_weights":false,"weight_factor":1.0,)"
      R"("order":"einsum","expert":"gpt","activation":"relu","d_expert":21,)"
      R"("shared_experts":2,"shared_expert_gate":false,)"
      R"("hooks":{"after_combine":"round_bf16","before_moe_start":"jitter"},)"
      R"("capacity_factor":2.0,"capacity_groups":15,"drop":"position","exchange":"irregular",)"
      R"("weight_gradients":"beside_return","auxiliary_weight":0.5,)"
      R"("z_loss_weight":0.001,)"
      R"("global_batch":15,"batch_per":"rank","micro_batches":3,)"
      R"("precision":"f64","optimizer":"sgd","learning_rate":0.25,"warmup_steps":0,)"
      R"("learning_rate_schedule":"constant","decay_steps":0,"least_learning_rate":0.0,)"
      R"("beta1":0.9,"beta2":0.999,"epsilon":1e-08,"weight_decay":0.0,"momentum":0.125,)"
      R"("nesterov":false,"clip_norm":"none",)"
      R"("outlier_z_score":"none","outlier_window":128,"seed":9})");
}

TEST_F(ModelFile, ReadsThePrecisionUnderTheNameThatItHadBefore) {
  EXPECT_EQ(load_with("blocks = 2", "blocks = 2\ndtype = \"f64\"").dtype, DType::f64);
  EXPECT_EQ(model_from_json(R"({"dtype":"f64"})", "a model").dtype, DType::f64);
}

TEST_F(ModelFile, SaysDroplessInWordsAndInJson) {
  const Model model = load_with("choices = 2", "choices = 2\ncapacity_factor = \"dropless\"");
  EXPECT_FALSE(model.capacity_factor);
  EXPECT_EQ(nlohmann::json::parse(to_json(model))["capacity_factor"], "dropless");
}

TEST_F(ModelFile, NamesTheNearestKeyAndTheLineOfAnUnknownOne) {
  EXPECT_THAT(message_with("d_hidden = 32", "d_hiden = 32"),
              HasSubstr("x.toml:2: model.d_hidden: missing; expected an integer from 1 to "
                        "16777216; line 5 has d_hiden"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nexprts = 4"),
              HasSubstr("x.toml:11: moe.exprts: unknown key; is experts meant?"));
}

TEST_F(ModelFile, SaysWhereAMisplacedKeyBelongs) {
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nheads = 2"),
              HasSubstr("x.toml:13: training.heads: unknown key: it belongs in [model]"));
  EXPECT_THAT(
      message_with("[training]", "[train]"),
      HasSubstr("x.toml:1: training: missing; expected the table [training]; line 11 has train"));
  EXPECT_THAT(message_with("[training]", "[x]\n[training]"),
              HasSubstr("x.toml:11: x: unknown key; known are base, model, moe, name, training"));
}

TEST_F(ModelFile, SaysWhatIsMissing) {
  EXPECT_THAT(message_with("d_model = 16\n", ""),
              HasSubstr("x.toml:2: model.d_model: missing; expected an integer from 1 to"));
  EXPECT_THAT(message_with("experts = 4\n", ""), HasSubstr("experts: missing"));
  EXPECT_NO_THROW(load_with("experts = 4\nchoices = 2", "moe_every = 0"));
}

TEST_F(ModelFile, RefusesValuesOfTheWrongTypeOrOutOfRange) {
  EXPECT_THAT(
      message_with("d_model = 16", "d_model = 16.0"),
      HasSubstr("x.toml:4: model.d_model: expected an integer from 1 to 16777216, got 16.0"));
  EXPECT_THAT(message_with("choices = 2", "choices = 0"),
              HasSubstr("x.toml:10: moe.choices: expected an integer from 1 to 1048576, got 0"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ndrop = \"last\""),
              HasSubstr("x.toml:11: moe.drop: expected one of \"choice\", \"position\", "
                        "\"probability\", got \"last\""));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nz_loss_weight = -1"),
              HasSubstr("x.toml:11: moe.z_loss_weight: expected a number of at least 0, got -1"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ncapacity_factor = 0"),
              HasSubstr("x.toml:11: moe.capacity_factor: expected a number above 0 or"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ncapacity_factor = \"none\""),
              HasSubstr("expected a number above 0 or \"dropless\", got \"none\""));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nauxiliary_weight = nan"),
              HasSubstr("expected a number of at least 0, got nan"));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nprecision = \"fp8\""),
              HasSubstr("expected one of \"f32\", \"f64\", \"bf16\", got \"fp8\""));
  EXPECT_THAT(message_with("blocks = 2\n", "blocks = 2\ndtype = \"f63\"\n"),
              HasSubstr("model.dtype: expected one of \"f32\", \"f64\", \"bf16\""));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nlearning_rate = inf"),
              HasSubstr("expected a number above 0"));
  EXPECT_THAT(
      message_with("global_batch = 4", "global_batch = 4\noptimizer = \"sgd\"\nmomentum = 1"),
      HasSubstr("expected a number from 0 to below 1"));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nseed = -1"),
              HasSubstr("training.seed: expected an integer of at least 0, got -1"));
}

TEST_F(ModelFile, RefusesValuesThatDoNotFitEachOther) {
  EXPECT_THAT(message_with("heads = 2", "heads = 3"),
              HasSubstr("x.toml:6: model.heads: expected a divisor of d_model = 16, or a "
                        "head_width beside it, got 3"));
  EXPECT_THAT(message_with("experts = 4", "experts = 1"),
              HasSubstr("x.toml:10: moe.choices: expected at most experts = 1, got 2"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nmoe_every = 3"),
              HasSubstr("moe.moe_every: expected 0 (no experts) to blocks = 2, got 3"));
  EXPECT_THAT(
      message_with("choices = 2", "choices = 2\ncapacity_factor = 1\ncapacity_groups = 3"),
      HasSubstr("moe.capacity_groups: expected a divisor of the 32 tokens of a batch, got 3"));
}

TEST_F(ModelFile, RefusesCapacityGroupsThatLieInSeveralMicroBatches) {
  std::string text = kGood;
  text.replace(text.find("choices = 2"), 11,
               "choices = 2\ncapacity_factor = 1\ncapacity_groups = 2");
  text += "micro_batches = 4\n";
  EXPECT_THAT(message([&] { load(text); }),
              HasSubstr("x.toml:12: moe.capacity_groups: expected a divisor of the 32 tokens of a "
                        "batch and a multiple of micro_batches = 4, got 2"));
}

TEST_F(ModelFile, RefusesHeadsAndNetworksThatDoNotFit) {
  EXPECT_THAT(message_with("heads = 2", "heads = 4\nkey_value_heads = 3"),
              HasSubstr("x.toml:7: model.key_value_heads: expected a divisor of heads = 4, got 3"));
  EXPECT_THAT(
      message_with("heads = 2", "heads = 16\npositions = \"rotary\""),
      HasSubstr("model.positions: positions = \"rotary\" turn pairs of columns: expected heads of "
                "even width, or fewer rotary_columns, got head_width = 1"));
  EXPECT_THAT(message_with("heads = 2", "heads = 2\nnorm = \"batch_norm\""),
              HasSubstr("expected one of \"layer_norm\", \"rms_norm\", got \"batch_norm\""));
  EXPECT_THAT(message_with("heads = 2", "heads = 2\nbiases = 0"),
              HasSubstr("x.toml:7: model.biases: expected true or false, got 0"));
  EXPECT_THAT(
      message_with("choices = 2", "choices = 2\nexpert = \"mixtral\"\nactivation = \"relu\""),
      HasSubstr("x.toml:12: moe.activation: expert = \"mixtral\" has an activation of its own"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nexpert = \"mixtrel\""),
              HasSubstr("expected one of \"gpt\", \"mixtral\", \"gpt_oss\", got \"mixtrel\""));
  EXPECT_THAT(
      message_with("choices = 2", "choices = 2\ndense_blocks = 1"),
      HasSubstr("moe.moe_every: expected 0 (no experts) to blocks - dense_blocks = 1, got 2"));
  EXPECT_NO_THROW(load_with("choices = 2", "choices = 2\ndense_blocks = 1\nmoe_every = 1"));
}

TEST_F(ModelFile, RefusesBlockPatternsThatDoNotFit) {
  const auto with = [&](const std::string& keys) {
    return message_with("choices = 2", "choices = 2\n" + keys);
  };
  EXPECT_THAT(with("block_pattern = \"dx\""),
              HasSubstr("x.toml:11: moe.block_pattern: expected letters d (dense) and e (experts), "
                        "or \"moe_every\", got \"dx\""));
  EXPECT_THAT(
      with("block_pattern = \"dde\""),
      HasSubstr("x.toml:11: moe.block_pattern: expected at most blocks = 2 letters, got 3"));
  EXPECT_THAT(
      with("block_pattern = \"de\"\nmoe_every = 2"),
      HasSubstr("x.toml:12: moe.moe_every: block_pattern = \"de\" says which blocks have "
                "experts: expected no such key beside it, or block_pattern = \"moe_every\""));
  EXPECT_THAT(with("dense_blocks = 1\nblock_pattern = \"de\""), HasSubstr("moe.dense_blocks:"));
  EXPECT_EQ(with("block_pattern = \"ed\""), "no InputError");
  EXPECT_EQ(message_with("experts = 4\nchoices = 2", "block_pattern = \"d\""), "no InputError");
  EXPECT_THAT(message_with("experts = 4\nchoices = 2", "block_pattern = \"de\""),
              HasSubstr("experts: missing"));
}

TEST_F(ModelFile, TakesItsPatternInPlaceOfThePeriodOfItsBase) {
  std::ofstream(directory_ / "below.toml") << kGood;
  std::ofstream(directory_ / "period.toml") << "base = \"below\"\n[moe]\nmoe_every = 1\n";
  const Model model = load("base = \"period\"\n[moe]\nblock_pattern = \"ed\"\n");
  EXPECT_TRUE(has_experts(model, 0));
  EXPECT_FALSE(has_experts(model, 1));
  EXPECT_EQ(model.moe_every, 2) << "left behind";
}

TEST_F(ModelFile, RefusesSizesThatNobodyCanMeanByTheNetworksThereAre) {
  // 2 or 3 matrices of 2^24 x 2^24 in each of 173 experts, and 8 of attention: 9.96e16 or 1.5e17
  // parameters.
  const std::string large = "d_model = 16777216\nd_hidden = 1\n";
  const auto with = [&](const std::string& moe) {
    std::string text = kGood;
    text.replace(text.find("d_model = 16\nd_hidden = 32\n"), 27, large);
    text.replace(text.find("experts = 4"), 11, "experts = 173\nmoe_every = 2\n" + moe);
    return message([&] { load(text); });
  };
  EXPECT_EQ(with("d_expert = 16777216"), "no InputError");
  EXPECT_THAT(with("d_expert = 16777216\nexpert = \"mixtral\""),
              HasSubstr("1.5e+17 parameters are more than 1e+17: lower experts"));
  EXPECT_THAT(with("d_expert = 16777216\nshared_experts = 1"), HasSubstr("1e+17 parameters"));
}

TEST_F(ModelFile, BuildsOnAnother) {
  std::ofstream(directory_ / "below.toml") << kGood;
  const Model model = load("base = \"below\"\n[model]\nblocks = 4\n[moe]\nexpert = \"mixtral\"\n");
  EXPECT_EQ(model.name, "x");
  EXPECT_EQ(model.blocks, 4);
  EXPECT_EQ(model.heads, 2);
  EXPECT_EQ(model.choices, 2);
  EXPECT_EQ(model.expert, "mixtral");
  EXPECT_EQ(model.global_batch, 4);
}

TEST_F(ModelFile, FindsNamesWithAFullStop) {
  EXPECT_EQ(find_input("glm-4.5", "experiments/models").filename(), "glm-4.5.toml");
  std::ofstream(directory_ / "v1.5.toml") << kGood;
  EXPECT_EQ(load("base = \"v1.5\"\n").heads, 2);
  EXPECT_EQ(load("base = \"qwen1.5-moe-a2.7b\"\n").blocks, 24);
}

TEST_F(ModelFile, BuildsOnAChainAndOnWhatIsShipped) {
  std::ofstream(directory_ / "a.toml") << "base = \"./b.toml\"\n[model]\nheads = 8\n";
  std::ofstream(directory_ / "b.toml")
      << "name = \"b\"\nbase = \"box-small\"\n[model]\nblocks = 7\n";
  const Model model = load("base = \"a\"\n[training]\nglobal_batch = 64\n");
  EXPECT_EQ(model.name, "x") << "a base keeps its name to itself";
  EXPECT_EQ(model.global_batch, 64);
  EXPECT_EQ(model.heads, 8);
  EXPECT_EQ(model.blocks, 7);
  EXPECT_EQ(model.d_hidden, 1536) << "box-small's";
}

TEST_F(ModelFile, NamesTheFileThatAValueStandsIn) {
  std::ofstream(directory_ / "below.toml") << kGood;
  EXPECT_THAT(message([&] { load("base = \"below\"\n[model]\nheads = 3\n"); }),
              HasSubstr("x.toml:3: model.heads: expected a divisor of d_model = 16, or a "
                        "head_width beside it, got 3"));
  EXPECT_THAT(message([&] { load("base = \"below\"\n[model]\nd_model = 17\n"); }),
              HasSubstr("below.toml:6: model.heads: expected a divisor of d_model = 17, or a "
                        "head_width beside it, got 2"));
  EXPECT_THAT(message([&] { load("base = \"below\"\n[moe]\nheads = 3\n"); }),
              HasSubstr("x.toml:3: moe.heads: unknown key: it belongs in [model]"));
  std::ofstream(directory_ / "below.toml") << kGood << "sed = 3\n";
  EXPECT_THAT(message([&] { load("base = \"below\"\n"); }),
              HasSubstr("below.toml:13: training.sed: unknown key; is seed meant?"));
}

TEST_F(ModelFile, RefusesABaseThatIsNotThereOrLeadsBack) {
  EXPECT_THAT(message([&] { load("base = \"nowhere\"\n"); }),
              AllOf(HasSubstr("x.toml:1: base: nowhere: no such file"), HasSubstr("box-small")));
  EXPECT_THAT(message([&] { load("\nbase = 3\n"); }),
              HasSubstr("x.toml:2: base: expected the file that this one builds on, got 3"));
  std::ofstream(directory_ / "y.toml") << "base = \"z\"\n";
  std::ofstream(directory_ / "z.toml") << "\n\nbase = \"x\"\n";
  EXPECT_THAT(message([&] { load("base = \"y\"\n"); }),
              testing::MatchesRegex(".*z.toml:3: base: leads back to where it began: "
                                    ".*x.toml -> .*y.toml -> .*z.toml -> .*x.toml"));
  EXPECT_THAT(message([&] { load("base = \"x\"\n"); }),
              testing::MatchesRegex(".*x.toml:1: base: leads back .*x.toml -> .*x.toml"));
}

TEST_F(ModelFile, SaysTheLineOfASyntaxError) {
  EXPECT_THAT(message([&] { load("[model]\nd_model = = 3\n"); }), HasSubstr("x.toml:2: "));
  EXPECT_THAT(message([&] { load_model(directory_ / "absent.toml"); }), HasSubstr("absent.toml"));
}

TEST_F(ModelFile, IsFoundByNameOrAsItStands) {
  const auto path = write(kGood);
  EXPECT_EQ(find_input("x", directory_), path);
  EXPECT_EQ(find_input(path.string(), "/nowhere"), path);
  EXPECT_THAT(message([&] { find_input("y", directory_); }),
              testing::AllOf(HasSubstr("y: no such file"), HasSubstr("has only x"),
                             HasSubstr("a config.json, or a folder with one, will do")));
}

TEST_F(ModelFile, ShipsModelsThatLoad) {
  int models = 0;
  const std::filesystem::path shipped = MOELAB_SOURCE_DIR "/experiments/models";
  for (const auto& entry : std::filesystem::directory_iterator(shipped)) {
    if (entry.path().extension() != ".toml") continue;
    const Model model = load_model(find_input(entry.path().stem().string(), "experiments/models"));
    EXPECT_EQ(model.name, entry.path().stem().string());
    EXPECT_NO_THROW(build_iteration(model, make_groups(1, 1), 0)) << model.name;
    ++models;
  }
  EXPECT_GE(models, 19);
}

}  // namespace
}  // namespace moe::model_file_test
