#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "moe/errors.h"
#include "moe/model/model.h"

namespace moe {
namespace {

using testing::HasSubstr;

constexpr const char* kGood = R"(
[model]
sequence_length = 8
d_model = 16
d_hidden = 32
heads = 2
blocks = 2
[moe]
experts = 4
choices = 2
[training]
global_batch = 4
)";

class ModelFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& text) {
    const auto path = directory_ / "x.toml";
    std::ofstream(path) << text;
    return path;
  }
  Model load(const std::string& text) { return load_model(write(text)); }

  /// kGood with one line replaced.
  Model load_with(const std::string& line, const std::string& replacement) {
    std::string text = kGood;
    text.replace(text.find(line), line.size(), replacement);
    return load(text);
  }
  template <class Body>
  std::string message(Body body) {
    try {
      body();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no InputError";
  }
  std::string message_with(const std::string& line, const std::string& replacement) {
    return message([&] { load_with(line, replacement); });
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-model-file-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ModelFile, GivesWhatIsNotWrittenItsDefault) {
  const Model model = load(kGood);
  EXPECT_EQ(model.name, "x");
  EXPECT_EQ(model.vocabulary, 256);
  EXPECT_EQ(model.d_hidden, 32);
  EXPECT_EQ(model.choices, 2);
  EXPECT_FALSE(model.capacity_factor);
  EXPECT_EQ(model.optimizer, Optimizer::adam);
  EXPECT_EQ(model.dtype, DType::f32);
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
dtype = "f64"
[moe]
moe_every = 3
experts = 7
choices = 1
capacity_factor = 2
capacity_groups = 5
auxiliary_weight = 0.5
[training]
global_batch = 15
micro_batches = 3
optimizer = "sgd"
learning_rate = 0.25
momentum = 0.125
seed = 9
)");
  EXPECT_EQ(
      to_json(model),
      R"({"name":"all","vocabulary":100,"sequence_length":10,"d_model":12,"d_hidden":14,)"
      R"("heads":3,"blocks":6,"dtype":"f64","moe_every":3,"experts":7,"choices":1,"gate":"softmax","expert":"gpt",)"
      R"("capacity_factor":2.0,"capacity_groups":5,"auxiliary_weight":0.5,"global_batch":15,"micro_batches":3,)"
      R"("optimizer":"sgd","learning_rate":0.25,"momentum":0.125,"seed":9})");
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
              HasSubstr("x.toml:11: x: unknown key; known are model, moe, name, training"));
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
  EXPECT_THAT(message_with("choices = 2", "choices = 3"),
              HasSubstr("x.toml:10: moe.choices: expected an integer from 1 to 2, got 3"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ncapacity_factor = 0"),
              HasSubstr("x.toml:11: moe.capacity_factor: expected a number above 0 or"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\ncapacity_factor = \"none\""),
              HasSubstr("expected a number above 0 or \"dropless\", got \"none\""));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nauxiliary_weight = nan"),
              HasSubstr("expected a number of at least 0, got nan"));
  EXPECT_THAT(message_with("blocks = 2", "blocks = 2\ndtype = \"bf16\""),
              HasSubstr("expected one of \"f32\", \"f64\", got \"bf16\""));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nlearning_rate = inf"),
              HasSubstr("expected a number above 0"));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nmomentum = 1"),
              HasSubstr("expected a number from 0 to below 1"));
  EXPECT_THAT(message_with("global_batch = 4", "global_batch = 4\nseed = -1"),
              HasSubstr("training.seed: expected an integer of at least 0, got -1"));
}

TEST_F(ModelFile, RefusesValuesThatDoNotFitEachOther) {
  EXPECT_THAT(message_with("heads = 2", "heads = 3"),
              HasSubstr("x.toml:6: model.heads: expected a divisor of d_model = 16, got 3"));
  EXPECT_THAT(message_with("experts = 4", "experts = 1"),
              HasSubstr("x.toml:10: moe.choices: expected at most experts = 1, got 2"));
  EXPECT_THAT(message_with("choices = 2", "choices = 2\nmoe_every = 3"),
              HasSubstr("moe.moe_every: expected 0 (no experts) to blocks = 2, got 3"));
  EXPECT_THAT(
      message_with("choices = 2", "choices = 2\ncapacity_groups = 3"),
      HasSubstr("moe.capacity_groups: expected a divisor of the 32 tokens of a batch, got 3"));
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
              testing::AllOf(HasSubstr("y: no such file"), HasSubstr("has only x")));
}

TEST_F(ModelFile, ShipsModelsThatLoad) {
  int models = 0;
  const std::filesystem::path shipped = MOELAB_SOURCE_DIR "/experiments/models";
  for (const auto& entry : std::filesystem::directory_iterator(shipped)) {
    if (entry.path().extension() != ".toml") continue;
    const Model model = load_model(find_input(entry.path().stem().string(), "experiments/models"));
    EXPECT_EQ(model.name, entry.path().stem().string());
    ++models;
  }
  EXPECT_GE(models, 4);
}

}  // namespace
}  // namespace moe
