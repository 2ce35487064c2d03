#include "moe/model/attention_biases.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::attention_biases_test {
namespace {

std::set<std::string> biases_of(const Model& model) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  std::set<std::string> names;
  for (const Parameter& parameter : program.parameters) {
    const std::string& name = program.tensors[parameter.value].name;
    if (name.starts_with("block0.") && name.ends_with(".bias")) names.insert(name);
  }
  return names;
}

TEST(AttentionBiases, AreThoseThatTheKeySaysWhateverOtherLayersHave) {
  Model model = test::small_model(DType::f64);
  const std::set<std::string> of_attention{"block0.attention.output.bias",
                                           "block0.attention.qkv.bias"};
  for (const bool biases : {true, false}) {
    model.biases = biases;
    model.own.clear();
    std::set<std::string> others = biases_of(model);
    for (const std::string& name : of_attention) EXPECT_EQ(others.erase(name), biases ? 1u : 0u);
    EXPECT_EQ(others.contains("block0.ffn.up.bias"), biases);
    for (const std::string_view value : names_of_attention_biases()) {
      model.own["attention_biases"] = std::string(value);
      std::set<std::string> expected = others;
      if (value != "none") expected.insert("block0.attention.qkv.bias");
      if (value == "all") expected.insert("block0.attention.output.bias");
      EXPECT_EQ(biases_of(model), expected) << value << " " << biases;
    }
  }
}

}  // namespace
}  // namespace moe::attention_biases_test
