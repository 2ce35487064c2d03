#include "moe/train/hugging_face/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "moe/train/hugging_face/config.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::hugging_face_family_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;

/// A model that is a Mixtral but for what `change` does.
template <class Change>
std::string refusal_after(const Change& change) {
  Model model = read_config(kGolden / "mixtral", base_model()).model;
  change(model);
  return refusal([&] { fitting_family(model, Family::mixtral); });
}

TEST(HuggingFaceFamily, RefusesModelsThatHaveNoCounterpart) {
  EXPECT_EQ(refusal_after([](Model&) {}), "nothing is refused");
  EXPECT_EQ(refusal_after([](Model& model) { model.hooks["before_dispatch"] = "jitter"; }),
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
  EXPECT_THAT(refusal_after([](Model& model) { model.choices = 1; }),
              HasSubstr("choices = 1 (expected 2 or more)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.shared_experts = 1; }),
              HasSubstr("shared_experts = 1 (expected 0)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.dense_blocks = 1; }),
              HasSubstr("dense_blocks = 1 (expected 0)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.moe_every = 2; }),
              HasSubstr("moe_every = 2 (expected 1)"));
  EXPECT_THAT(refusal_after([](Model& model) { model.hooks["before_dispatch"] = "round_bf16"; }),
              HasSubstr("hooks.before_dispatch = \"round_bf16\" (expected no such hook)"));

  Model adjusted = read_config(kGolden / "glm4_moe", base_model()).model;
  EXPECT_EQ(fitting_family(adjusted, std::nullopt), Family::glm4_moe);
  EXPECT_THAT(refusal([&] { fitting_family(adjusted, Family::qwen2_moe); }),
              HasSubstr("qwen2_moe has no gate = \"bias_adjusted\" (expected \"softmax\")"));
  adjusted.gate = "sigmoid";
  EXPECT_THAT(refusal([&] { fitting_family(adjusted, Family::glm4_moe); }),
              HasSubstr("glm4_moe has no gate = \"sigmoid\" (expected \"bias_adjusted\")"));

  Model neither = base_model();
  EXPECT_THAT(
      refusal([&] { fitting_family(neither, std::nullopt); }),
      ::testing::AllOf(HasSubstr("mixtral has no norm"), HasSubstr("qwen2_moe has no norm")));
}

}  // namespace
}  // namespace moe::hugging_face_family_test
