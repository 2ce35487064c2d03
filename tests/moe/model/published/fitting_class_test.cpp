#include "moe/model/published/fitting_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "moe/model/published/config_text.h"
#include "moe/model/published/read_config.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::fitting_class_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;

const PublishedClass* named(std::string_view name) {
  for (const PublishedClass& of : published_classes()) {
    if (of.name == name) return &of;
  }
  throw std::runtime_error(std::string(name));
}

/// A model that is a Mixtral but for what `change` does.
template <class Change>
std::string refusal_after(const Change& change) {
  Model model = read_config(kGolden / "mixtral", base_model()).model;
  change(model);
  return refusal([&] { fitting_class(model, named("mixtral")); });
}

TEST(FittingClass, RefusesModelsThatHaveNoCounterpart) {
  EXPECT_EQ(refusal_after([](Model&) {}), "nothing is refused");
  EXPECT_EQ(refusal_after([](Model& model) { model.hooks["before_moe_start"] = "jitter"; }),
            "nothing is refused");
  EXPECT_THAT(refusal_after([](Model& model) { model.norm = Norm::layer_norm; }),
              HasSubstr("mixtral has no norm = \"layer_norm\" (expected \"rms_norm\")"));
  EXPECT_THAT(refusal_after([](Model& model) { model.positions = Positions::learned; }),
              HasSubstr("positions = \"learned\" (expected \"rotary\")"));
  EXPECT_THAT(refusal_after([](Model& model) { model.expert = "gpt"; }),
              HasSubstr("expert = \"gpt\" (expected \"mixtral\")"));
  EXPECT_THAT(refusal_after([](Model& model) { model.gate = "gshard"; }),
              HasSubstr("gate = \"gshard\" (expected \"softmax\")"));
  EXPECT_THAT(refusal_after([](Model& model) { model.capacity_factor = 1.25; }),
              HasSubstr("capacity_factor = 1.25 (expected \"dropless\")"));
  EXPECT_THAT(
      refusal_after([](Model& model) { model.own["attention_biases"] = std::string("all"); }),
      HasSubstr("attention_biases = \"all\" (expected \"none\")"));
  // transformers would turn whole heads, whatever its config.json said.
  EXPECT_THAT(refusal_after([](Model& model) { model.own["rotary_columns"] = std::int64_t{2}; }),
              HasSubstr("rotary_columns = 2 (expected 4)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.normalize_weights = false; }),
              HasSubstr("normalize_weights = false (expected true)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.shared_experts = 1; }),
              HasSubstr("shared_experts = 1 (expected 0)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.dense_blocks = 1; }),
              HasSubstr("dense_blocks = 1 (expected 0)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.moe_every = 2; }),
              HasSubstr("moe_every = 2 (expected 1)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.hooks["before_dispatch"] = "round_bf16"; }),
              HasSubstr("hooks.before_dispatch = \"round_bf16\" (expected no such hook)"));

  Model adjusted = read_config(kGolden / "glm4_moe", base_model()).model;
  EXPECT_EQ(fitting_class(adjusted, nullptr).name, "glm4_moe");
  EXPECT_THAT(refusal([&] { fitting_class(adjusted, named("qwen2_moe")); }),
              HasSubstr("qwen2_moe has no query_key_norm = \"head\" (expected \"none\")"));
  adjusted.gate = "sigmoid";
  EXPECT_THAT(refusal([&] { fitting_class(adjusted, named("glm4_moe")); }),
              HasSubstr("glm4_moe has no gate = \"sigmoid\" (expected \"bias_adjusted\")"));

  Model neither = base_model();
  EXPECT_THAT(
      refusal([&] { fitting_class(neither, nullptr); }),
      ::testing::AllOf(HasSubstr("mixtral has no norm"), HasSubstr("qwen2_moe has no norm")));
}

}  // namespace
}  // namespace moe::fitting_class_test
