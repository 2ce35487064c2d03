#include "moe/model/published/read_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "moe/errors.h"
#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"
#include "moe/model/model_json.h"
#include "moe/model/model_toml.h"
#include "moe/model/published/config_text.h"
#include "moe/model/published/fitting_class.h"
#include "moe/model/rotary_keys.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::read_config_test {
namespace {

using namespace golden_folders;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A small config.json of the class, with the keys in `more` (", \"key\": value").
std::string small(const std::string& type, const std::string& more) {
  const bool has_own_word = more.find("moe_topk") != std::string::npos;
  return R"({"model_type": ")" + type +
         R"(", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 4,
            "num_attention_heads": 2, "num_key_value_heads": 2)" +
         (has_own_word ? "" : R"(, "num_experts_per_tok": 2)") + more + "}";
}
ConfiguredModel read(const std::string& type, const std::string& more = "") {
  return read_config_text(small(type, more), "c.json", base_model());
}
std::string refused(const std::string& type, const std::string& more) {
  return refusal([&] { read(type, more); });
}

/// Of each class, what makes it small, and uses keys of its own.
const std::vector<std::pair<std::string, std::string>>& small_classes() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"mixtral", R"(, "intermediate_size": 6, "num_local_experts": 3, "sliding_window": 3)"},
      {"qwen2_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 3,
           "shared_expert_intermediate_size": 8, "mlp_only_layers": [0, 1, 3],
           "use_sliding_window": true, "sliding_window": 3, "layer_types": ["full_attention",
           "full_attention", "sliding_attention", "sliding_attention"])"},
      {"qwen3_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 3, "head_dim": 6,
           "norm_topk_prob": true, "attention_bias": true,
           "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 16})"},
      {"glm4_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 8,
           "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5, "use_qk_norm": true,
           "head_dim": 12, "partial_rotary_factor": 0.34)"},
      {"dots1",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 8,
           "n_shared_experts": 2, "sliding_window": 3, "max_window_layers": 1)"},
      {"gpt_oss", R"(, "intermediate_size": 6, "num_local_experts": 3, "sliding_window": 3)"},
      {"olmoe",
       R"(, "intermediate_size": 6, "num_experts": 3, "norm_topk_prob": true,
           "rope_scaling": {"type": "linear", "factor": 2})"},
      {"minimax_m2",
       R"(, "intermediate_size": 6, "num_local_experts": 3,
           "head_dim": 8, "rotary_dim": 4)"},
      {"granitemoe",
       R"(, "intermediate_size": 6, "num_local_experts": 3, "attention_multiplier": 0.25,
           "embedding_multiplier": 12, "residual_multiplier": 0.22, "logits_scaling": 6.0,
           "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                            "high_freq_factor": 4, "original_max_position_embeddings": 32})"},
      {"ernie4_5_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "moe_num_experts": 3,
           "moe_layer_interval": 2)"},
      {"aria_text",
       R"(, "intermediate_size": 6, "moe_num_experts": 3, "moe_topk": 2,
           "moe_num_shared_experts": 1)"},
      {"granitemoeshared",
       R"(, "intermediate_size": 6, "num_local_experts": 3, "shared_intermediate_size": 12)"},
      {"granitemoe_swa",
       R"(, "intermediate_size": 6, "num_local_experts": 3, "sliding_window": 3,
           "layer_rope_theta": [0, 100.0, 100.0, 100.0], "rope_theta": 100.0)"},
      {"exaone_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 8,
           "sliding_window": 3, "sliding_window_pattern": 2,
           "mlp_layer_types": ["dense", "sparse", "dense", "sparse"])"},
      {"flint",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 8, "head_dim": 6,
           "shared_expert_intermediate_size": 8, "mlp_only_layers": [1], "sliding_window": 3,
           "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
           "full_attention"])"},
      {"mellum",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 3, "head_dim": 6,
           "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention",
           "sliding_attention", "full_attention"], "rope_parameters": {
           "full_attention": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0,
                              "original_max_position_embeddings": 16},
           "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})"},
      {"flex_olmo", R"(, "intermediate_size": 6, "num_experts": 3)"},
      {"hunyuan_v1_moe",
       R"(, "intermediate_size": 6, "num_experts": [3, 3], "moe_topk": [2, 2], "head_dim": 6,
           "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0})"},
      {"sarvam_moe",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 4,
           "head_dim": 6, "use_qk_norm": false)"},
      {"hy_v3",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "num_experts": 4, "head_dim": 6,
           "mlp_layer_types": ["dense", "sparse", "dense", "sparse"])"},
      {"solar_open", R"(, "moe_intermediate_size": 4, "n_routed_experts": 4, "head_dim": 6)"},
      {"glm4_moe_lite",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 4,
           "mlp_layer_types": ["dense", "sparse", "dense", "sparse"], "q_lora_rank": 3,
           "kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 4, "v_head_dim": 3)"},
      {"sarvam_mla",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 4,
           "kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 4, "v_head_dim": 3)"},
      {"deepseek_v2",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 8,
           "q_lora_rank": null, "kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 4,
           "v_head_dim": 3, "topk_method": "group_limited_greedy", "n_group": 4,
           "topk_group": 2, "attention_bias": true)"},
      {"deepseek_v3",
       R"(, "intermediate_size": 10, "moe_intermediate_size": 4, "n_routed_experts": 16,
           "q_lora_rank": 5, "kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 4,
           "v_head_dim": 3,
           "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                            "original_max_position_embeddings": 4096})"}};
  return all;
}

/// A class as its golden folders and its own declaration say it is written and read again.
TEST(ReadConfig, OfEveryClassIsAWholeModelThatIsWrittenAndReadAgain) {
  for (const auto& [type, more] : small_classes()) {
    SCOPED_TRACE(type);
    const ConfiguredModel configured = read(type, more);
    EXPECT_EQ(configured.of->name, type);
    const Model& model = configured.model;
    const auto unmatched = unmatched_key(model, *configured.of);
    EXPECT_FALSE(unmatched) << unmatched->key << ", " << unmatched->expected;
    Model other = model;
    other.experts += 8;
    EXPECT_NE(config_text(other, *configured.of), config_text(model, *configured.of));
  }
}

TEST(ReadConfig, EveryClassHasASmallOne) {
  std::vector<std::string> tested{"kimi_k2"};
  for (const auto& [type, more] : small_classes()) tested.push_back(type);
  for (const std::string_view name : names_of_classes()) {
    EXPECT_THAT(tested, Contains(std::string(name)));
  }
}

/// Of a file that says nothing but the class: what transformers 5.24 counts on the device "meta".
TEST(ReadConfig, HasTheParametersThatTransformersCounts) {
  const std::vector<std::tuple<const char*, const char*, std::int64_t>> all{
      {"mixtral", "", 46702792704},
      {"qwen2_moe", "", 14315784192},
      {"qwen3_moe", "", 15350731776},
      {"glm4_moe", R"(, "head_dim": 128)", 106851586048},  // without it no even number turns
      {"dots1", R"(, "n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6)",
       163585920960},
      {"gpt_oss", "", 116829156672},
      {"olmoe", "", 13361612800},
      {"minimax_m2", "", 228689748992},
      {"granitemoe", "", 37039116288},
      {"ernie4_5_moe", "", 21825437888},
      {"deepseek_v2", R"(, "num_experts_per_tok": 6)", 38612307968},
      {"deepseek_v3", "", 671026404352},
      {"kimi_k2", "", 671026404352},
      {"glm4_moe_lite", "", 29943390976},
      {"sarvam_mla", "", 106031763456},
      {"solar_open", "", 102651793408},
      {"sarvam_moe", "", 32152648064},
      {"hy_v3", "", 295033528320},
      {"aria_text", "", 18517069824},
      {"granitemoeshared", "", 37039116288},
      {"granitemoe_swa", "", 37039117312},
      {"exaone_moe", "", 28550639616},
      {"flint", "", 39785287456},
      {"mellum", "", 12149923072},
      {"flex_olmo", "", 33270665216},
      {"hunyuan_v1_moe", R"(, "num_experts": 64)", 285893464064}};
  std::vector<std::string_view> tested;
  for (const auto& [type, more, parameters] : all) {
    const std::string text = fmt::format(R"({{"model_type": "{}"{}}})", type, more);
    const ConfiguredModel configured = read_config_text(text, "c.json", base_model());
    EXPECT_EQ(published_parameters(configured.model, *configured.of), parameters) << type;
    tested.emplace_back(type);
  }
  EXPECT_THAT(tested, ::testing::UnorderedElementsAreArray(names_of_classes()));
}

TEST(ReadConfig, SaysWhatAClassHasWhereTheFileHasNothing) {
  const ConfiguredModel oss = read("gpt_oss");
  EXPECT_EQ(oss.model.expert, "gpt_oss");
  EXPECT_EQ(head_width(oss.model), 64);
  EXPECT_EQ(attention_window(oss.model, 0), 128);
  EXPECT_EQ(attention_window(oss.model, 1), 0);
  EXPECT_TRUE(has_attention_sinks(oss.model));
  const RotaryAngles angles = rotary_angles(oss.model);
  EXPECT_EQ(angles.scaling, AngleScaling::yarn);
  EXPECT_EQ(angles.base, 150000);
  EXPECT_FALSE(angles.whole_pairs);
  EXPECT_NEAR(angles.magnitude, 1.3465735902799727, 1e-15);  // 0.1 ln 32 + 1
  EXPECT_THAT(oss.remarks, Contains(HasSubstr("as the class has them: head_dim = 64")));
  EXPECT_EQ(rotary_angles(read("glm4_moe", R"(, "head_dim": 128)").model).columns, 64);
}

TEST(ReadConfig, ReadsWhichBlocksTurnAndByWhatAngles) {
  const auto turned = [](const Model& model) {
    std::string blocks;
    for (int block = 0; block < model.blocks; ++block) blocks += turns(model, block) ? 't' : 'n';
    return blocks;
  };
  const std::string types = R"(, "layer_types": ["sliding_attention", "full_attention",
      "full_attention", "sliding_attention"], "sliding_window": 3)";
  const std::string full = R"(, "layer_types": ["full_attention", "full_attention",
      "full_attention", "full_attention"])";
  EXPECT_EQ(turned(read("exaone_moe").model), "tttn");
  EXPECT_EQ(turned(read("exaone_moe", types).model), "tnnt");
  EXPECT_EQ(turned(read("exaone_moe", full).model), "nnnn");
  EXPECT_EQ(turned(read("exaone_moe", R"(, "sliding_window": null)").model), "tttt");
  EXPECT_FALSE(unmatched_key(read("exaone_moe", full).model, *read("exaone_moe").of));
  EXPECT_EQ(turned(read("flint").model), "nntn");
  EXPECT_EQ(turned(read("flint", R"(, "sliding_window": null)").model), "nnnn");

  const Model swa = read("granitemoe_swa", types + R"(, "layer_rope_theta": [50, 0, 70, 0])").model;
  EXPECT_EQ(turned(swa), "tntn");
  EXPECT_EQ(rotary_angles(swa, 0).base, 50);
  EXPECT_EQ(rotary_angles(swa, 2).base, 70);
  EXPECT_THAT(refused("granitemoe_swa", types + R"(, "layer_rope_theta": [50, 0, 70, 60])"),
              HasSubstr("layer_rope_theta[3]: expected 50 or 0: the base of earlier blocks"));

  const std::string plain = R"({"rope_type": "default", "rope_theta": 40})";
  const std::string yarn = R"({"rope_type": "yarn", "rope_theta": 90, "factor": 4.0,
                               "original_max_position_embeddings": 16})";
  const auto kinds = [&](const std::string& windowed) {
    return types + R"(, "rope_parameters": {"full_attention": )" + yarn +
           R"(, "sliding_attention": )" + windowed + "}";
  };
  const Model mellum = read("mellum", kinds(plain)).model;
  EXPECT_EQ(rotary_angles(mellum, 0).base, 40);
  EXPECT_EQ(rotary_angles(mellum, 0).scaling, AngleScaling::none);
  EXPECT_EQ(rotary_angles(mellum, 1).base, 90);
  EXPECT_EQ(rotary_angles(mellum, 1).scaling, AngleScaling::yarn);
  EXPECT_THAT(refused("mellum", kinds(yarn)),
              HasSubstr("rope_parameters.sliding_attention.rope_type: expected \"default\""));
  EXPECT_THAT(
      refused("mellum", types + R"(, "rope_parameters": {"full_attention": )" + plain + "}"),
      HasSubstr("rope_parameters.sliding_attention: missing"));
  EXPECT_THAT(refused("mellum", R"(, "rope_theta": 40)"),
              HasSubstr("rope_theta: expected no such"));
}

TEST(ReadConfig, TurnsPartsOfHeadsWhereTransformersDoes) {
  const auto columns = [](const std::string& type, const std::string& more) {
    return rotary_angles(read(type, R"(, "head_dim": 12)" + more).model).columns;
  };
  const std::string half = R"(, "partial_rotary_factor": 0.5)";
  EXPECT_EQ(columns("glm4_moe", half), 6);
  EXPECT_EQ(columns("sarvam_moe", R"(, "rope_parameters": {"rope_type": "default",
      "partial_rotary_factor": 0.5})"),
            6);
  EXPECT_EQ(columns("minimax_m2", half + R"(, "rotary_dim": 6)"), 6);
  EXPECT_THAT(refused("minimax_m2", half + R"(, "head_dim": 12, "rotary_dim": 4)"),
              HasSubstr("rotary_dim: expected 6, as follows from partial_rotary_factor, got 4"));
  EXPECT_EQ(columns("mixtral", R"(, "partial_rotary_factor": 1.0)"), 12);
  EXPECT_THAT(refused("glm4_moe", half + R"(, "rope_scaling": {"rope_type": "default",
      "partial_rotary_factor": 1.0})"),
              HasSubstr("rope_scaling.partial_rotary_factor: expected partial_rotary_factor = 0.5, "
                        "as it is outside, got 1.0"));
  for (const auto& [type, more] : small_classes()) {
    const PublishedClass& of = *read(type, more).of;
    if (of.turns_part) continue;
    EXPECT_THAT(refused(type, more + half),
                HasSubstr("partial_rotary_factor: expected 1: " + type + " turns whole heads"));
  }
  EXPECT_THAT(
      refused("glm4_moe", R"(, "head_dim": 12, "partial_rotary_factor": 0.3)"),
      HasSubstr("partial_rotary_factor: expected a share of the 12 columns of a head that is an "
                "even number of them, got 0.3"));
  EXPECT_THAT(refused("minimax_m2", R"(, "head_dim": 12, "rotary_dim": 14)"),
              HasSubstr("rotary_columns = 14: expected an even number of at most head_width = 12"));
}

TEST(ReadConfig, RefusesNullWhereTheClassHasAValue) {
  EXPECT_THAT(refused("qwen3_moe", R"(, "norm_topk_prob": null)"),
              HasSubstr("norm_topk_prob: expected true or false, got null"));
  EXPECT_THAT(refused("qwen3_moe", R"(, "tie_word_embeddings": null)"),
              HasSubstr("tie_word_embeddings: expected true or false, got null"));
  EXPECT_THAT(refused("qwen3_moe", R"(, "moe_intermediate_size": null)"),
              HasSubstr("moe_intermediate_size: expected an integer"));
  EXPECT_THAT(refused("deepseek_v3", R"(, "routed_scaling_factor": null)"),
              HasSubstr("routed_scaling_factor: expected a number"));
  EXPECT_EQ(head_width(read("gpt_oss", R"(, "head_dim": null)").model), 4);
  EXPECT_EQ(read("glm4_moe", R"(, "n_shared_experts": null)").model.shared_experts, 0);
}

TEST(ReadConfig, RefusesKeysThatSayOtherwiseThanEachOther) {
  const std::string yarn = R"("rope_type": "yarn", "factor": 4.0)";
  EXPECT_THAT(refused("mixtral", R"(, "rope_scaling": {"type": "linear", )" + yarn + "}"),
              HasSubstr("rope_scaling.type: expected rope_type = \"yarn\", got \"linear\""));
  const std::string inner = R"(, "rope_scaling": {"original_max_position_embeddings": 16, )";
  EXPECT_THAT(refused("mixtral", inner + yarn + R"(}, "original_max_position_embeddings": 32)"),
              HasSubstr("rope_scaling.original_max_position_embeddings: expected "
                        "original_max_position_embeddings = 32, as it is outside, got 16"));
  const Model both =
      read("mixtral", inner + yarn + R"(}, "original_max_position_embeddings": 16)").model;
  EXPECT_EQ(rotary_angles(both).trained_length, 16);

  const std::string types = R"(, "layer_types": ["full_attention", "sliding_attention",
      "sliding_attention", "sliding_attention"])";
  const std::string window = R"(, "sliding_window": 3)";
  EXPECT_THAT(refused("mixtral", types + window),
              HasSubstr("layer_types[0]: expected \"sliding_attention\": the window is of all "
                        "layers here, got \"full_attention\""));
  EXPECT_THAT(refused("qwen3_moe", types + window),
              HasSubstr("layer_types[1]: expected \"full_attention\": no window is in use here"));
  EXPECT_THAT(refused("qwen2_moe", types + window), HasSubstr("no window is in use here"));
  EXPECT_THAT(refused("gpt_oss", types + R"(, "sliding_window": null)"),
              HasSubstr("no window is in use here"));
  EXPECT_THAT(refused("mixtral", R"(, "sliding_window": 0)"),
              HasSubstr("sliding_window: expected null, or an integer of at least 1, got 0"));
  EXPECT_EQ(attention_window(read("qwen2_moe", R"(, "sliding_window": 0)").model, 0), 0);
}

TEST(ReadConfig, NamesTheKeyOfTheFileWhereTheModelHasAnotherName) {
  EXPECT_THAT(refused("mixtral", R"(, "num_local_experts": 1)"),
              HasSubstr("c.json:2: num_experts_per_tok: expected at most experts = 1, got 2"));
  EXPECT_THAT(refused("deepseek_v3", R"(, "first_k_dense_replace": 4)"),
              HasSubstr("first_k_dense_replace: expected at most num_hidden_layers - 1 = 3, "
                        "got 4"));
}

TEST(ReadConfig, GroupsOfWhichAllAreTheBestAreWrittenAsTheyAre) {
  const ConfiguredModel all = read("deepseek_v2", R"(, "n_routed_experts": 8, "n_group": 4,
      "topk_group": 4, "topk_method": "group_limited_greedy")");
  EXPECT_EQ(all.model.expert_groups, 4);
  EXPECT_FALSE(unmatched_key(all.model, *all.of));
}

TEST(ReadConfig, RefusesNoScalingThatVersionsOfTransformersTakeForDifferentThings) {
  EXPECT_THAT(refused("gpt_oss", R"(, "rope_scaling": null)"), HasSubstr("rope_scaling: expected"));
  const Model plain = read("gpt_oss", R"(, "rope_scaling": {"rope_type": "default"})").model;
  EXPECT_EQ(rotary_angles(plain).scaling, AngleScaling::none);
  EXPECT_THAT(refused("gpt_oss", R"(, "rope_scaling": {})"), HasSubstr("rope_scaling: expected"));
  const Model none = read("mixtral", R"(, "rope_scaling": {})").model;
  EXPECT_EQ(rotary_angles(none).scaling, AngleScaling::none);
  const std::string yarn = R"(, "rope_parameters": {"full_attention": {"rope_type": "yarn",
      "rope_theta": 90, "factor": 4.0, "truncate": false}, "sliding_attention": {}})";
  EXPECT_THAT(refused("mellum", yarn), HasSubstr("full_attention.truncate: expected true"));
}

TEST(ReadConfig, LatentAttentionScalesScoresByYarn) {
  const Model model = read("deepseek_v3", small_classes().back().second).model;
  EXPECT_EQ(head_width(model), 6);
  EXPECT_EQ(rotary_angles(model).columns, 2);
  EXPECT_EQ(latent_attention(model).query_rank, 5);
  EXPECT_EQ(value_width(model), 3);
  const double magnitude = 0.1 * std::log(40) + 1;
  EXPECT_NEAR(attention_scale(model), magnitude * magnitude / std::sqrt(6), 1e-15);
  EXPECT_EQ(rotary_angles(model).magnitude, 1);
}

TEST(ReadConfig, TakesYarnBetweenOneNumberOfTurns) {  // as Kimi-K2 has it
  const Model model = read("qwen3_moe", R"(, "rope_scaling": {"type": "yarn", "factor": 32,
      "beta_fast": 1, "beta_slow": 1, "original_max_position_embeddings": 4096})")
                          .model;
  EXPECT_EQ(rotary_angles(model).slow_turns, rotary_angles(model).fast_turns);
  EXPECT_THAT(refused("qwen3_moe", R"(, "rope_scaling": {"type": "yarn", "factor": 32,
      "beta_fast": 1, "beta_slow": 2, "original_max_position_embeddings": 4096})"),
              HasSubstr("rotary_slow_turns: expected at most rotary_fast_turns = 1, got 2"));
}

TEST(ReadConfig, TakesAKeyByEitherOfItsNames) {
  EXPECT_EQ(read("qwen3_moe", R"(, "num_local_experts": 5)").model.experts, 5);
  EXPECT_THAT(refused("qwen3_moe", R"(, "num_local_experts": 5, "num_experts": 4)"),
              HasSubstr("num_local_experts: expected the value of num_experts, got 5"));
}

TEST(ReadConfig, RefusesWhatThereIsNoKeyForByNameAndValue) {
  EXPECT_THAT(refused("granitemoe", R"(, "position_embedding_type": "nope")"),
              HasSubstr("c.json:2: position_embedding_type: expected \"rope\": there is no key "
                        "for attention without positions by this key, got \"nope\""));
  EXPECT_THAT(refused("olmoe", R"(, "clip_qkv": 8)"),
              HasSubstr("clip_qkv: expected null: there is no key for limits of queries"));
  EXPECT_THAT(refused("gpt_oss", R"(, "swiglu_limit": 6)"), HasSubstr("expected 7"));
  EXPECT_THAT(refused("phimoe", ""), HasSubstr("model_type: \"phimoe\" needs sparsemixer"));
  EXPECT_THAT(refused("deepseek_v2", R"(, "norm_topk_prob": true)"),
              HasSubstr("norm_topk_prob: expected false"));
  EXPECT_THAT(refused("mixtral", R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 2})"),
              HasSubstr("rope_type: expected one of \"default\", \"linear\", \"llama3\", "
                        "\"yarn\", got \"dynamic\""));
  EXPECT_THAT(refused("glm4_moe", R"(, "sliding_window": 8)"),
              HasSubstr("sliding_window: expected null: glm4_moe has no windows"));
  EXPECT_THAT(refused("qwen2_moe", R"(, "use_sliding_window": true)"),
              HasSubstr("layer_types: is missing"));
  EXPECT_THAT(refused("dots1", ""), HasSubstr("n_routed_experts: is missing"));
  EXPECT_THAT(refused("kimi_vl", R"(, "text_config": {"model_type": "deepseek_v3"})"),
              HasSubstr("model_type: \"kimi_vl\" has its model of text in text_config "
                        "(\"deepseek_v3\"): expected that object as a file of its own"));
  EXPECT_THAT(refused("mixtral", R"(, "text_config": {})"),
              HasSubstr("text_config: expected no such key"));
}

TEST(ReadConfig, StandsBelowSettingsAsAModelFileDoes) {
  const Scratch scratch;
  const auto folder = scratch.root / "some-model";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / kConfigFile) << small("qwen3_moe", R"(, "torch_dtype": "float32")");
  const Model model = load_model(find_input(folder.string(), "experiments/models"),
                                 {"training.global_batch=3", "moe.experts=5"});
  EXPECT_EQ(model.name, "some-model");
  EXPECT_EQ(model.experts, 5);
  EXPECT_EQ(model.global_batch, 3);
  EXPECT_EQ(model.sequence_length, 4096);
  EXPECT_EQ(model.dtype, DType::f32);
  EXPECT_FALSE(model.capacity_factor);
  EXPECT_THAT(refusal([&] { load_model(folder, {"moe.choices=200"}); }),
              HasSubstr("choices: expected at most experts = 128, got 200"));
  EXPECT_THAT(refusal([&] { load_model(folder, {"training.momentum=0.5"}); }),
              HasSubstr("optimizer = \"adamw\" has none"));
}

TEST(ReadConfig, RefusesWhatHasNoCounterpartByKeyAndLine) {
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
  EXPECT_THAT(refusal_of("mixtral", "model_type", "llama"),
              HasSubstr("model_type: expected one of \"mixtral\", \"qwen2_moe\", "));
  EXPECT_THAT(refusal_of("mixtral", "hidden_act", "gelu"),
              HasSubstr("experts of another activation"));
  EXPECT_EQ(refusal_of("mixtral", "head_dim", 8), "nothing is refused");
  EXPECT_THAT(refusal_of("mixtral", "rope_scaling", {{"rope_type", "yarn"}}),
              HasSubstr("rope_scaling: stands beside rope_parameters"));
  EXPECT_THAT(refusal_of("mixtral", "max_position_embeddings", 4),
              HasSubstr("max_position_embeddings: expected at least sequence_length = 8, got 4"));
  EXPECT_THAT(refusal_of("qwen2_moe", "shared_expert_intermediate_size", 7),
              HasSubstr("expected a multiple of moe_intermediate_size = 4, got 7"));
  EXPECT_EQ(refusal_of("qwen2_moe", "mlp_only_layers", {1}), "nothing is refused");
  EXPECT_EQ(refusal_of("glm4_moe", "rope_theta", 1e4), "nothing is refused");
  EXPECT_EQ(refusal_of("glm4_moe", "routed_scaling_factor", 2.5), "nothing is refused");
  EXPECT_THAT(refusal_of("glm4_moe", "n_group", 8),
              HasSubstr("n_group: 8 groups of 8 experts: the router looks for the 2 best"));

  EXPECT_THAT(refusal_of("mixtral", "rope_theta", 5e5),
              HasSubstr("rope_parameters.rope_theta: expected rope_theta = 500000, as it is "
                        "outside, got 1000"));
  EXPECT_THAT(refusal_of("mixtral", "architectures", {"MixtralForSequenceClassification"}),
              HasSubstr("architectures[0]: expected \"MixtralForCausalLM\", got"));
  EXPECT_THAT(refusal_of("mixtral", "attention_bias", true),
              HasSubstr("attention_bias: expected no such key: nothing here reads it, and it may "
                        "change what is computed, got true"));
  EXPECT_EQ(refusal_of("mixtral", "attention_bias", false), "nothing is refused");
  EXPECT_THAT(refusal_of("qwen2_moe", "residual_multiplier", 0.5),
              HasSubstr("residual_multiplier: expected no such key: nothing here reads it, and it "
                        "may change what is computed, got 0.5"));
  EXPECT_EQ(refusal_of("qwen2_moe", "residual_multiplier", nullptr), "nothing is refused");
}

/// transformers computes the class's own angles of such a file, or fails.
TEST(ReadConfig, RefusesAnglesByKindOfLayerOfClassesWithOneKind) {
  const Scratch scratch;
  const auto base_with = [&](const nlohmann::json& rope) {
    nlohmann::json config = json_of(kGolden / "mixtral" / kConfigFile);
    config["rope_parameters"] = rope;
    std::ofstream(scratch.root / kConfigFile) << config.dump(2);
    return read_config(scratch.root, base_model()).model.rotary_base;
  };
  const nlohmann::json plain{{"rope_type", "default"}, {"rope_theta", 777.0}};
  EXPECT_EQ(base_with(plain), 777);
  for (const char* kind : {"full_attention", "sliding_attention"}) {
    EXPECT_THAT(refusal([&] {
                  base_with({{kind, plain}});
                }),
                HasSubstr(fmt::format("rope_parameters.{}: expected no such key: mixtral has one "
                                      "kind of angles",
                                      kind)));
  }
}

TEST(ReadConfig, ReadsNumbersThatOnlyPythonWrites) {
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

TEST(ReadConfig, TellsTheKeysThatItLeavesAside) {
  const ConfiguredModel configured = read_config(kGolden / "mixtral", base_model());
  EXPECT_THAT(configured.left_aside,
              ::testing::IsSupersetOf({"router_aux_loss_coef", "transformers_version"}));
  EXPECT_THAT(configured.read, ::testing::IsSupersetOf({"hidden_size", "rope_parameters"}));
  EXPECT_THAT(said_of(configured), ::testing::IsSupersetOf({HasSubstr("config.json: read: "),
                                                            HasSubstr("are left aside: ")}));
  const Scratch scratch;
  const auto file = scratch.root / kConfigFile;
  std::ofstream(file) << small("mixtral", R"(, "auto_map": {"AutoModel": "a.B"})");
  const std::string said = assumed_training(file, configured.model);
  EXPECT_THAT(said, HasSubstr(file.string() +
                              ": says nothing of a training, which is sequence_length = 8"));
  EXPECT_THAT(said, HasSubstr("; auto_map names code of the model's own"));
  EXPECT_THAT(said, HasSubstr("; not in the file, and as the class has them: "));
  EXPECT_EQ(assumed_training("tiny.toml", configured.model), "");
  EXPECT_THAT(read("mixtral", R"(, "auto_map": {"AutoModel": "a.B"})").remarks,
              Contains(HasSubstr("auto_map names code of the model's own")));
}

TEST(ReadConfig, FindsDenseBlocksInWhateverWayTheyAreSaid) {
  const Scratch scratch;
  nlohmann::json config = json_of(kGolden / "qwen2_moe" / kConfigFile);
  const auto blocks_with = [&](int step, const std::vector<int>& dense) {
    config["num_hidden_layers"] = 7;
    config.erase("layer_types");
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
  EXPECT_THAT(blocks_with(1, {1, 2, 5}), ::testing::ElementsAre(0, 3, 4, 6));
  EXPECT_THAT(blocks_with(100, {}), ::testing::ElementsAre());
}

}  // namespace
}  // namespace moe::read_config_test
