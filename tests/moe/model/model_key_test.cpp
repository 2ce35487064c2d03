#include "moe/model/model_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "moe/errors.h"
#include "moe/model/gates/gates.h"
#include "moe/model/model_json.h"
#include "moe/model/model_toml.h"
#include "tests/moe/model/random_model.h"

namespace moe::model_key_test {
namespace {

using test::drawn_value;

Model load_text(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "moelab-model-key.toml";
  std::ofstream(path) << text;
  Model model = load_model(path);
  std::filesystem::remove(path);
  return model;
}

std::vector<std::string> names_of(const std::vector<KeyDifference>& differences) {
  std::vector<std::string> names;
  for (const KeyDifference& one : differences) names.push_back(one.key);
  return names;
}

/// A model of every gate.
std::vector<Model> models_of_gates() {
  std::vector<Model> models;
  for (const Gate& gate : gates()) {
    models.emplace_back().gate = gate.name;
    models.back().name = "any";
    models.back().head_width = 8;  // whatever heads and d_model are drawn
  }
  return models;
}

TEST(ModelKeys, AreWrittenReadAndComparedOneByOne) {
  std::mt19937 random(1);
  for (const Model& model : models_of_gates()) {
    for (const ModelKey* key : keys_of(model)) {
      SCOPED_TRACE(model.gate + ": " + std::string(key->name));
      const KeyValue before = key->get(*key, model);
      KeyValue value = before;
      for (int i = 0; i < 100 && value == before; ++i) value = drawn_value(random, *key);
      ASSERT_NE(value_text(value), value_text(before)) << "the range has one value only";
      Model changed = model;
      key->set(*key, changed, value);
      EXPECT_EQ(value_text(key->get(*key, changed)), value_text(value));
      EXPECT_NE(to_json(changed), to_json(model)) << "not written";
      EXPECT_THAT(names_of(differing_keys(model, changed)),
                  ::testing::Contains(::testing::EndsWith(std::string(key->name))));
      const Model read = model_from_json(to_json(changed));
      EXPECT_EQ(to_json(read), to_json(changed));
      EXPECT_THAT(differing_keys(read, changed), ::testing::IsEmpty());
    }
  }
}

TEST(ModelKeys, OfRandomModelsReadFromAFileAreWhatTheFileSays) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    // Reading settles the keys that a gate rules over, such as the weight of a loss that it lacks.
    const Model model = load_text(to_toml(test::random_model(random)));
    const std::string text = to_toml(model);
    EXPECT_EQ(to_json(load_text(text)), to_json(model)) << text;
    EXPECT_EQ(to_json(model_from_json(to_json(model))), to_json(model));
  }
}

TEST(ModelKeys, AreOneForEveryMember) {
  // A member that is added to Model needs a name here, and so a key: otherwise this does not
  // compile.
  const Model model;
  const auto& [name, vocabulary, sequence_length, d_model, d_hidden, heads, key_value_heads,
               head_width, blocks, norm, norm_epsilon, query_key_norm, positions, rotary_base, head,
               shard_vocabulary, biases, dense_blocks, moe_every, experts, choices, gate, gate_bias,
               expert_groups, best_groups, group_experts_counted, normalize_weights, weight_factor,
               order, hooks, expert, activation, d_expert, shared_experts, shared_expert_gate,
               capacity_factor, capacity_groups, drop, exchange, weight_gradients, auxiliary_weight,
               z_loss_weight, own, global_batch, batch_per, micro_batches, optimizer, learning_rate,
               warmup_steps, decay_steps, least_learning_rate, learning_rate_schedule, beta1, beta2,
               epsilon, weight_decay, momentum, nesterov, clip_norm, outlier_z_score,
               outlier_window, seed, dtype] = model;
  const auto count = [](const auto&... member) { return sizeof...(member); };
  const std::size_t members_with_a_key = count(
      name, vocabulary, sequence_length, d_model, d_hidden, heads, key_value_heads, head_width,
      blocks, norm, norm_epsilon, query_key_norm, positions, rotary_base, head, shard_vocabulary,
      biases, dense_blocks, moe_every, experts, choices, gate, gate_bias, expert_groups,
      best_groups, group_experts_counted, normalize_weights, weight_factor, order, expert,
      activation, d_expert, shared_experts, shared_expert_gate, capacity_factor, capacity_groups,
      drop, exchange, weight_gradients, auxiliary_weight, z_loss_weight, global_batch, batch_per,
      micro_batches, optimizer, learning_rate, warmup_steps, decay_steps, least_learning_rate,
      learning_rate_schedule, beta1, beta2, epsilon, weight_decay, momentum, nesterov, clip_norm,
      outlier_z_score, outlier_window, seed, dtype);
  std::size_t without = 0;  // those whose values are in `hooks` and `own`
  for (const ModelKey& key : common_keys()) {
    without += key.table == "moe.hooks" || key.fallback != nullptr ? 1 : 0;
  }
  EXPECT_EQ(common_keys().size() - without, members_with_a_key);
  EXPECT_TRUE(hooks.empty() && own.empty());
}

TEST(ModelKeys, HaveAMeaningAndANameOfTheirOwn) {
  std::set<std::string_view> common;
  for (const ModelKey& key : common_keys()) {
    EXPECT_TRUE(common.insert(key.name).second) << key.name;
    EXPECT_TRUE(key.meaning.ends_with(".")) << key.name;
  }
  for (const Gate& gate : gates()) {
    std::set<std::string_view> own;
    for (const ModelKey& key : gate.keys) {
      EXPECT_FALSE(common.contains(key.name)) << key.name;
      EXPECT_TRUE(own.insert(key.name).second) << key.name;
      EXPECT_TRUE(key.meaning.ends_with(".")) << key.name;
      EXPECT_NE(key.fallback, nullptr) << key.name;
    }
  }
}

/// Those that are not: sizes and rates that have no part in what schedules must keep, hooks that do
/// not give the same on any ranks, and outliers, which the trainer looks for.
TEST(ModelKeys, AreDrawnByThePropertyTests) {
  const std::set<std::string_view> never{
      "name",           "vocabulary",      "learning_rate",  "after_combine",   "after_dispatch",
      "before_combine", "before_dispatch", "before_moe_end", "outlier_z_score", "outlier_window"};
  std::map<std::string_view, std::set<std::string>> drawn;
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const Model model = test::random_model(random);
    for (const ModelKey* key : keys_of(model)) {
      drawn[key->name].insert(value_text(key->get(*key, model)));
    }
  }
  for (const auto& [name, values] : drawn) {
    EXPECT_EQ(values.size() > 1, !never.contains(name)) << name;
  }
}

TEST(ModelKeys, OfTheGateAloneAreTakenFromJson) {
  Model model;
  model.name = "a";
  model.gate = "bias_adjusted";
  model.own["bias_speed"] = 0.5;
  Model other = model;
  other.own["bias_speed"] = 8.0;
  const auto differences = differing_keys(model, other);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].key, "bias_speed");
  EXPECT_EQ(differences[0].first + " " + differences[0].second, "0.5 8");
  EXPECT_EQ(to_json(model_from_json(to_json(other))), to_json(other));
  EXPECT_THROW(model_from_json(R"({"gate": "softmax", "bias_speed": 0.5})"), InputError);
  EXPECT_THROW(model_from_json(R"({"gate": "bias_adjusted", "bias_speed": -1})"), InputError);
  // A key that an older program did not write has its default.
  EXPECT_EQ(to_json(model_from_json("{\"name\":\"a\",\"gate\":\"bias_adjusted\"}")), to_json([] {
              Model bare;
              bare.name = "a";
              bare.gate = "bias_adjusted";
              return bare;
            }()));
}

}  // namespace
}  // namespace moe::model_key_test
