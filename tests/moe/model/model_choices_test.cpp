#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "moe/model/model.h"
#include "moe/model/model_key.h"
#include "tests/moe/model/model_file.h"

namespace moe::model_choices_test {
namespace {

using test::kGood;
using test::ModelFile;
using testing::HasSubstr;

/// The value of a key that the model's gate declares.
std::string own(const Model& model, std::string_view name) {
  for (const ModelKey* key : keys_of(model)) {
    if (key->name == name) return value_text(key->get(*key, model));
  }
  return "no such key";
}

TEST_F(ModelFile, TakesAsManyChoicesAsThereAreExperts) {
  EXPECT_EQ(load_with("choices = 2", "choices = 4").choices, 4);
  EXPECT_THAT(message_with("choices = 2", "choices = 5"),
              HasSubstr("x.toml:10: moe.choices: expected at most experts = 4, got 5"));
}

TEST_F(ModelFile, ReadsWhatAGateAddsToIt) {
  const auto with = [&](const std::string& keys) {
    return load_with("choices = 2", "choices = 2\n" + keys);
  };
  EXPECT_EQ(with("gate = \"batch_prioritized\"").drop, Drop::probability);
  EXPECT_EQ(with("capacity_factor = 1\ndrop = \"probability\"").drop, Drop::probability);
  EXPECT_EQ(own(with("gate = \"bias_adjusted\"\nbias_speed = 0.5"), "bias_speed"), "0.5");
  EXPECT_EQ(with("gate = \"bias_adjusted\"").auxiliary_weight, 0);
  EXPECT_EQ(own(with("gate = \"x_moe\""), "gate_rank"), "2");
  EXPECT_EQ(own(with("gate = \"x_moe\"\ngate_rank = 3"), "gate_rank"), "3");
  EXPECT_EQ(own(load_with("experts = 4", "experts = 2\ngate = \"x_moe\""), "gate_rank"), "2");
  EXPECT_THAT(message([&] { with("gate = \"x_moe\"\ngate_rank = 1"); }),
              HasSubstr("gate_rank: expected an integer from 2 to"));
  EXPECT_EQ(own(with("gate = \"x_moe\"\ngate_temperature = \"learned\""), "gate_temperature"),
            "\"learned\"");
  EXPECT_EQ(own(with("gate = \"x_moe\"\ngate_temperature = 0.07"), "gate_temperature"), "0.07");
}

TEST_F(ModelFile, RefusesKeysThatTheGateHasNoUseFor) {
  const auto refusal = [&](const std::string& keys) {
    return message_with("choices = 2", "choices = 2\n" + keys);
  };
  EXPECT_THAT(refusal("gate = \"batch_prioritized\"\ndrop = \"position\""),
              HasSubstr("x.toml:12: moe.drop: gate = \"batch_prioritized\" drops by probability"));
  EXPECT_THAT(refusal("gate = \"hash\"\ndrop = \"probability\""),
              HasSubstr("moe.drop: gate = \"hash\" does not rank tokens"));
  EXPECT_THAT(refusal("gate = \"random\"\nz_loss_weight = 0.1"),
              HasSubstr("moe.z_loss_weight: gate = \"random\" has no router z-loss"));
  EXPECT_THAT(
      refusal("gate = \"bias_adjusted\"\nauxiliary_weight = 0.1"),
      HasSubstr("moe.auxiliary_weight: gate = \"bias_adjusted\" has no load-balancing loss"));
  EXPECT_THAT(
      refusal("bias_speed = 0.1"),
      HasSubstr("moe.bias_speed: gate = \"softmax\" has none; gate = \"bias_adjusted\" does"));
  EXPECT_THAT(
      refusal("gate_temperature = 0.1"),
      HasSubstr("moe.gate_temperature: gate = \"softmax\" has none; gate = \"x_moe\" does"));
}

TEST_F(ModelFile, RefusesKeysThatTheChoiceBesideThemHasNoUseFor) {
  const auto refusal = [&](const char* line, const std::string& more) {
    return message_with(line, std::string(line) + "\n" + more);
  };
  for (const char* positions : {"", "positions = \"learned\"\n"}) {
    EXPECT_THAT(refusal("heads = 2", positions + std::string("rotary_base = 1000")),
                HasSubstr("model.rotary_base: positions = \"learned\" turn nothing: expected no "
                          "rotary_base, or positions = \"rotary\""));
  }
  EXPECT_EQ(refusal("heads = 2", "rotary_base = 1000\npositions = \"rotary\""), "no InputError");
  EXPECT_THAT(refusal("global_batch = 4", "momentum = 0.5"),
              HasSubstr("x.toml:13: training.momentum: optimizer = \"adam\" has none; optimizer = "
                        "\"sgd\" does"));
  EXPECT_EQ(refusal("global_batch = 4", "momentum = 0.5\noptimizer = \"sgd\""), "no InputError");
  EXPECT_THAT(refusal("global_batch = 4", "weight_decay = 0.5"),
              HasSubstr("training.weight_decay: optimizer = \"adam\" has none; optimizer = "
                        "\"adamw\" or \"sgd\" does"));
  EXPECT_EQ(refusal("global_batch = 4", "weight_decay = 0.5\noptimizer = \"adamw\""),
            "no InputError");
  EXPECT_THAT(refusal("global_batch = 4", "beta1 = 0.5\noptimizer = \"sgd\""),
              HasSubstr("training.beta1: optimizer = \"sgd\" has none; optimizer = \"adam\" or "
                        "\"adamw\" does"));
  EXPECT_THAT(refusal("global_batch = 4", "learning_rate_schedule = \"cosine\""),
              HasSubstr("\"cosine\" ends at an iteration: expected decay_steps beside it"));
  EXPECT_THAT(refusal("global_batch = 4",
                      "warmup_steps = 10\ndecay_steps = 10\n"
                      "learning_rate_schedule = \"linear\""),
              HasSubstr("decay_steps: expected more than warmup_steps = 10, got 10"));
  for (const std::string word : {"\"constant\"", "\"inverse_square_root\""}) {
    const std::string schedule = "learning_rate_schedule = " + word;
    EXPECT_THAT(
        refusal("global_batch = 4", "decay_steps = 10\n" + schedule),
        HasSubstr("decay_steps: " + schedule + " has no such end; \"linear\" and \"cosine\" have"));
    EXPECT_EQ(refusal("global_batch = 4", "decay_steps = 0\n" + schedule), "no InputError");
  }
  EXPECT_THAT(refusal("global_batch = 4", "least_learning_rate = 1e-4"),
              HasSubstr("least_learning_rate: learning_rate_schedule = \"constant\" does not fall; "
                        "\"linear\", \"cosine\" and \"inverse_square_root\" do"));
  EXPECT_EQ(refusal("global_batch = 4", "least_learning_rate = 0"), "no InputError");
  const std::string falling = "\nlearning_rate_schedule = \"inverse_square_root\"";
  EXPECT_EQ(refusal("global_batch = 4", "least_learning_rate = 1e-4" + falling), "no InputError");
  EXPECT_THAT(refusal("global_batch = 4", "least_learning_rate = 0.5" + falling),
              HasSubstr("least_learning_rate: expected at most learning_rate = 0.001, got 0.5"));
  for (const char* dropless : {"", "capacity_factor = \"dropless\"\n"}) {
    for (const char* key : {"drop = \"position\"", "capacity_groups = 2"}) {
      EXPECT_THAT(
          refusal("choices = 2", dropless + std::string(key)),
          HasSubstr("a dropless model drops nothing: expected a capacity_factor beside it"));
      EXPECT_EQ(refusal("choices = 2", std::string("capacity_factor = 1\n") + key),
                "no InputError");
    }
  }
  EXPECT_THAT(refusal("choices = 2", "exchange = \"padded\""),
              HasSubstr("moe.exchange: a dropless model has no capacity that rows could be padded "
                        "to: expected a capacity_factor beside it, or \"irregular\""));
  EXPECT_EQ(refusal("choices = 2", "exchange = \"padded\"\ncapacity_factor = 1"), "no InputError");
  EXPECT_EQ(refusal("choices = 2", "exchange = \"irregular\""), "no InputError");
  EXPECT_EQ(refusal("choices = 2", "capacity_groups = 0"), "no InputError") << "what it is anyway";
}

TEST_F(ModelFile, AnotherChoiceThanItsBaseMadeLeavesBehindWhatBelongedToThatOne) {
  std::string below = kGood;
  below.replace(below.find("heads = 2"), 9,
                "heads = 2\npositions = \"rotary\"\nrotary_base = 1000");
  below.replace(below.find("choices = 2"), 11,
                "choices = 2\ngate = \"x_moe\"\ngate_rank = 3\nauxiliary_weight = 0.5\n"
                "capacity_factor = 1\ncapacity_groups = 2\ndrop = \"position\"\n"
                "activation = \"relu\"");
  below += "optimizer = \"sgd\"\nmomentum = 0.5\n";
  std::ofstream(directory_ / "below.toml") << below;
  const std::string base = "base = \"below\"\n";
  const Model same = load(base);
  EXPECT_EQ(same.rotary_base, 1000);
  EXPECT_EQ(own(same, "gate_rank"), "3");
  EXPECT_EQ(same.momentum, 0.5);
  EXPECT_EQ(same.drop, Drop::position);
  const Model other = load(base +
                           "[model]\npositions = \"learned\"\n"
                           "[moe]\ngate = \"bias_adjusted\"\ncapacity_factor = \"dropless\"\n"
                           "expert = \"mixtral\"\n"
                           "[training]\noptimizer = \"adam\"\n");
  EXPECT_EQ(other.rotary_base, Model{}.rotary_base);
  EXPECT_TRUE(other.own.empty());
  EXPECT_EQ(other.auxiliary_weight, 0);
  EXPECT_EQ(other.capacity_groups, 0);
  EXPECT_EQ(other.drop, Drop::choice);
  EXPECT_EQ(other.momentum, Model{}.momentum);
  EXPECT_THAT(message([&] { load(base + "[moe]\ngate = \"softmax\"\ngate_rank = 2\n"); }),
              HasSubstr("x.toml:4: moe.gate_rank: gate = \"softmax\" has none"))
      << "its own key is not inherited";
}

TEST_F(ModelFile, RefusesSubModulesThatDoNotGoTogether) {
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ngate = \"soft_moe\"\ncapacity_factor = 1"),
              HasSubstr("x.toml:8: moe.order: expected \"einsum\" with gate = \"soft_moe\""));
  EXPECT_THAT(
      message_with("choices = 2",
                   "choices = 2\ngate = \"soft_moe\"\ncapacity_factor = 1\norder = \"sparse\""),
      HasSubstr("x.toml:13: moe.order: expected \"einsum\" with gate = \"soft_moe\""));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ngate = \"expert_choice\""),
              HasSubstr("moe.capacity_factor: expected a number above 0 with gate"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\norder = \"dense\""),
              HasSubstr("moe.order: expected one of \"sparse\", \"einsum\", got \"dense\""));
}

TEST_F(ModelFile, NamesTheHooksAndTheirPlaces) {
  EXPECT_THAT(message_with("[training]", "[moe.hooks]\nbefore_gate = \"jitter\"\n[training]"),
              HasSubstr("moe.hooks.before_gate: unknown key"));
  EXPECT_THAT(message_with("[training]", "[moe.hooks]\nbefore_dispatch = \"noise\"\n[training]"),
              HasSubstr("moe.hooks.before_dispatch: expected one of \"jitter\", \"round_bf16\""));
  EXPECT_THAT(message_with("[training]", "[moe.hooks]\nbefore_dispatch = \"jitter\"\n[training]"),
              HasSubstr("moe.hooks: before_dispatch = \"jitter\": expected before_moe_start or"));
}

}  // namespace
}  // namespace moe::model_choices_test
