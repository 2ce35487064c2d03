#include "moe/train/hugging_face/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "moe/model/iteration.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::hugging_face_config_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;

TEST(HuggingFaceConfig, RefusesWhatHasNoCounterpartByKeyAndLine) {
  const Scratch scratch;
  const auto refusal_of = [&](const char* golden, const std::string& key,
                              const nlohmann::json& value) {
    nlohmann::json config = json_of(kGolden / golden / kConfigFile);
    config[key] = value;
    std::ofstream(scratch.root / kConfigFile) << config.dump(2);
    return refusal([&] { read_config(scratch.root, base_model()); });
  };
  EXPECT_EQ(refusal_of("mixtral", "attention_dropout", 0.5), "nothing is refused");
  EXPECT_EQ(refusal_of("mixtral", "sliding_window", 8), "nothing is refused");
  EXPECT_THAT(refusal_of("mixtral", "sliding_window", 7),
              HasSubstr("sliding_window: expected null, or at least sequence_length = 8, got 7"));
  EXPECT_THAT(refusal_of("mixtral", "model_type", "llama"),
              HasSubstr("model_type: expected one of \"mixtral\", \"qwen2_moe\", \"glm4_moe\", got "
                        "\"llama\""));
  EXPECT_THAT(
      refusal_of("mixtral", "model_type", "qwen3_moe"),
      HasSubstr("model_type: \"qwen3_moe\" has norms of queries and keys, for which there is "
                "no counterpart here: expected \"mixtral\" or \"qwen2_moe\" or \"glm4_moe\""));
  EXPECT_THAT(refusal_of("mixtral", "hidden_act", "gelu"),
              HasSubstr("hidden_act: expected \"silu\", got \"gelu\""));
  EXPECT_THAT(refusal_of("mixtral", "head_dim", 8),
              HasSubstr("head_dim: expected hidden_size / num_attention_heads = 4, got 8"));
  EXPECT_THAT(
      refusal_of("mixtral", "rope_scaling", {{"rope_type", "yarn"}}),
      HasSubstr("rope_scaling.rope_type: expected \"default\": angles that are not scaled"));
  EXPECT_THAT(refusal_of("mixtral", "layer_types", {"full_attention", "sliding_attention"}),
              HasSubstr("layer_types[1]: expected \"full_attention\", got \"sliding_att"));
  EXPECT_THAT(refusal_of("mixtral", "num_experts_per_tok", 1),
              HasSubstr("num_experts_per_tok: expected 2 or more"));
  EXPECT_THAT(refusal_of("mixtral", "max_position_embeddings", 4),
              HasSubstr("max_position_embeddings: expected at least sequence_length = 8, got 4"));
  EXPECT_THAT(refusal_of("qwen2_moe", "norm_topk_prob", false),
              HasSubstr("norm_topk_prob: expected true: with num_experts_per_tok = 2 weights are "
                        "divided by their sum here"));
  EXPECT_THAT(refusal_of("qwen2_moe", "shared_expert_intermediate_size", 7),
              HasSubstr("expected a multiple of moe_intermediate_size = 4, got 7"));
  EXPECT_THAT(refusal_of("qwen2_moe", "mlp_only_layers", {1}),
              HasSubstr("mlp_only_layers: expected some first layers"));
  EXPECT_EQ(refusal_of("glm4_moe", "rope_theta", 1e4), "nothing is refused");
  EXPECT_THAT(refusal_of("glm4_moe", "rope_parameters", {{"rope_theta", 1e4}}),
              HasSubstr("partial_rotary_factor: expected 1: queries and keys are turned whole"));
  EXPECT_THAT(refusal_of("glm4_moe", "rope_parameters", {{"partial_rotary_factor", 0.5}}),
              HasSubstr("rope_parameters.partial_rotary_factor: expected 1, got 0.5"));
  EXPECT_THAT(refusal_of("glm4_moe", "use_qk_norm", true),
              HasSubstr("use_qk_norm: expected false: queries and keys have no norms here"));
  EXPECT_THAT(refusal_of("glm4_moe", "routed_scaling_factor", 2.5),
              HasSubstr("routed_scaling_factor: expected 1, got 2.5"));
  EXPECT_THAT(refusal_of("glm4_moe", "n_group", 2),
              HasSubstr("topk_group: expected n_group = 2: no groups of experts are left out"));
  EXPECT_THAT(refusal_of("glm4_moe", "norm_topk_prob", false),
              HasSubstr("norm_topk_prob: expected true: with num_experts_per_tok = 2"));
  EXPECT_THAT(refusal_of("glm4_moe", "first_k_dense_replace", 2),
              HasSubstr("first_k_dense_replace"));

  EXPECT_THAT(
      refusal_of("mixtral", "rope_scaling", {{"factor", 4.0}}),
      HasSubstr("rope_scaling.factor: expected no such key: angles of all layers alike, and "
                "not scaled, got 4"));
  EXPECT_THAT(refusal_of("mixtral", "rope_theta", 5e5),
              HasSubstr("rope_parameters.rope_theta: expected rope_theta = 500000, as it is "
                        "outside, got 1000"));
  EXPECT_THAT(refusal_of("mixtral", "architectures", {"MixtralForSequenceClassification"}),
              HasSubstr("architectures[0]: expected \"MixtralForCausalLM\", got"));
  EXPECT_THAT(refusal_of("mixtral", "auto_map", {{"AutoModelForCausalLM", "a.B"}}),
              HasSubstr("auto_map: expected no such key: the class of transformers"));
  EXPECT_THAT(refusal_of("mixtral", "attention_bias", true),
              HasSubstr("attention_bias: expected no such key: nothing here reads it, and it may "
                        "change what is computed, got true"));
  EXPECT_EQ(refusal_of("mixtral", "attention_bias", false), "nothing is refused");
  EXPECT_THAT(refusal_of("qwen2_moe", "residual_multiplier", 0.5),
              HasSubstr("residual_multiplier: expected no such key: nothing here reads it, and it "
                        "may change what is computed, got 0.5"));
  EXPECT_EQ(refusal_of("qwen2_moe", "residual_multiplier", nullptr), "nothing is refused");

  Model sigmoid = base_model();
  sigmoid.gate = "sigmoid";
  EXPECT_THAT(refusal([&] { read_config(kGolden / "mixtral", sigmoid); }),
              HasSubstr("class mixtral, which has no gate = \"sigmoid\": expected \"softmax\""));
}

TEST(HuggingFaceConfig, ReadsAnglesByKindOfLayerAndNeverTheirDefault) {
  const Scratch scratch;
  const auto base_with = [&](const nlohmann::json& rope) {
    nlohmann::json config = json_of(kGolden / "mixtral" / kConfigFile);
    config["rope_parameters"] = rope;
    std::ofstream(scratch.root / kConfigFile) << config.dump(2);
    return read_config(scratch.root, base_model()).model.rotary_base;
  };
  const nlohmann::json plain{{"rope_type", "default"}, {"rope_theta", 777.0}};
  const nlohmann::json scaled{{"rope_type", "yarn"}, {"rope_theta", 777.0}};
  EXPECT_EQ(base_with(plain), 777);
  EXPECT_EQ(base_with({{"full_attention", plain}}), 777);
  EXPECT_THAT(refusal([&] {
                base_with({{"full_attention", scaled}});
              }),
              HasSubstr("rope_parameters.full_attention.rope_type: expected \"default\""));
  EXPECT_THAT(refusal([&] {
                base_with({{"full_attention", plain}, {"sliding_attention", plain}});
              }),
              HasSubstr("rope_parameters.sliding_attention: expected no such key"));
  EXPECT_THAT(refusal([&] {
                base_with({{"sliding_attention", plain}});
              }),
              HasSubstr("rope_parameters.sliding_attention: expected no such key"));
}

TEST(HuggingFaceConfig, ReadsNumbersThatOnlyPythonWrites) {
  const Scratch scratch;
  std::string text = read_file(kGolden / "mixtral" / kConfigFile);
  const auto with = [&](const std::string& key, const std::string& number) {
    const std::size_t at = text.find("\"" + key + "\": ") + key.size() + 4;
    std::string other = text;
    other.replace(at, text.find_first_of(",\n", at) - at, number);
    std::ofstream(scratch.root / kConfigFile) << other;
    return refusal([&] { read_config(scratch.root, base_model()); });
  };
  EXPECT_EQ(with("router_jitter_noise", "NaN"), "nothing is refused");
  EXPECT_EQ(with("router_aux_loss_coef", "-Infinity"), "nothing is refused");
  EXPECT_THAT(with("rms_norm_eps", "Infinity"),
              HasSubstr("rms_norm_eps: expected a number above 0, got inf"));
  EXPECT_THAT(with("rms_norm_eps", "Nan"), HasSubstr("not JSON"));
}

TEST(HuggingFaceConfig, TellsTheKeysThatItLeavesAside) {
  EXPECT_THAT(read_config(kGolden / "mixtral", base_model()).left_aside,
              ::testing::IsSupersetOf({"router_aux_loss_coef", "transformers_version"}));
}

TEST(HuggingFaceConfig, FindsDenseBlocksInWhateverWayTheyAreSaid) {
  const Scratch scratch;
  nlohmann::json config = json_of(kGolden / "qwen2_moe" / kConfigFile);
  const auto blocks_with = [&](int step, const std::vector<int>& dense) {
    config["num_hidden_layers"] = 7;
    config["decoder_sparse_step"] = step;
    config["mlp_only_layers"] = dense;
    std::ofstream(scratch.root / kConfigFile) << config.dump(2);
    const Model model = read_config(scratch.root, base_model()).model;
    std::vector<int> with;
    for (int block = 0; block < model.blocks; ++block) {
      if (has_experts(model, block)) with.push_back(block);
    }
    return with;
  };
  EXPECT_THAT(blocks_with(2, {}), ::testing::ElementsAre(1, 3, 5));
  EXPECT_THAT(blocks_with(1, {0, 1, 3, 5}), ::testing::ElementsAre(2, 4, 6));
  EXPECT_THAT(blocks_with(3, {2}), ::testing::ElementsAre(5));
}

}  // namespace
}  // namespace moe::hugging_face_config_test
