#include "moe/input/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "moe/errors.h"
#include "moe/model/model.h"

namespace moe::setting_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Setting, ReadsAPathAndAValue) {
  const Setting setting = parse_setting("moe.hooks.before_dispatch=a=b");
  EXPECT_THAT(setting.path, ElementsAre("moe", "hooks", "before_dispatch"));
  EXPECT_EQ(setting.value, "a=b");
  EXPECT_EQ(key_of(setting), "moe.hooks.before_dispatch");
}

TEST(Setting, RefusesWhatSetsNothing) {
  for (const char* text : {"moe.experts", "moe.experts=", "=3", "moe.=3", ".experts=3"}) {
    EXPECT_THAT(error_of([&] { parse_setting(text); }), StartsWith("--set ")) << text;
  }
  for (const char* text : {"base=tiny", "cluster.base=box"}) {
    EXPECT_THAT(error_of([&] { parse_setting(text); }), HasSubstr("stands in a file alone"));
  }
  EXPECT_THAT(error_of([] {
                parse_settings({"a.b=1", "a.b=2"});
              }),
              HasSubstr("a.b stands there twice"));
}

TEST(Setting, AValueIsAsTomlReadsItAndElseAText) {
  const auto node = [](const char* value) { return value_node({{"key"}, value}).value; };
  EXPECT_EQ(std::get<std::int64_t>(node("64")), 64);
  EXPECT_EQ(std::get<double>(node("1.25")), 1.25);
  EXPECT_EQ(std::get<bool>(node("true")), true);
  EXPECT_EQ(std::get<std::string>(node("dropless")), "dropless");
  EXPECT_EQ(std::get<std::string>(node("\"64\"")), "64");
  EXPECT_EQ(std::get<std::string>(node("8,16")), "8,16");
  EXPECT_EQ(std::get<std::string>(node("1\nother = 2")), "1\nother = 2");
}

class SetModel : public testing::Test {
 protected:
  static Model load(const std::vector<std::string>& settings) {
    return load_model(find_input("micro", "experiments/models"), settings);
  }
  static std::string error(const std::string& setting) {
    return error_of([&] { load({setting}); });
  }
};

TEST_F(SetModel, KeysOfEveryTableAreSet) {
  const Model before = load({});
  const Model model = load({"moe.experts=6", "training.global_batch=12", "model.norm=rms_norm",
                            "moe.capacity_factor=dropless"});
  EXPECT_NE(before.experts, 6);
  EXPECT_EQ(model.experts, 6);
  EXPECT_EQ(model.global_batch, 12);
  EXPECT_EQ(model.norm, Norm::rms_norm);
  EXPECT_FALSE(model.capacity_factor);
  EXPECT_EQ(model.name, before.name);
  EXPECT_EQ(model.d_model, before.d_model);
}

TEST_F(SetModel, AWrongValueIsRefusedAsInAFileWithTheSettingInItsPlace) {
  EXPECT_THAT(error("moe.experts=0"),
              AllOf(StartsWith("--set moe.experts=0: moe.experts: expected an integer from"),
                    HasSubstr("got 0")));
  EXPECT_THAT(error("moe.experts=8,16"), HasSubstr("got \"8,16\""));
  EXPECT_THAT(error("moe.exprts=8"),
              AllOf(StartsWith("--set moe.exprts=8: moe.exprts"), HasSubstr("experts")));
  EXPECT_THAT(error("model.heads=5"), StartsWith("--set model.heads=5: model.heads: expected a"));
  EXPECT_THAT(error("moe.experts.x=5"), HasSubstr("a key on the way has a value already"));
}

/// A key that a setting leaves without a use is left behind, as one that a base has.
TEST_F(SetModel, AChoiceLeavesKeysOfTheFileBehind) {
  const auto path = std::filesystem::path(testing::TempDir()) / "setting-with-momentum.toml";
  std::ofstream(path) << "base = \"micro\"\n[training]\noptimizer = \"sgd\"\nmomentum = 0.5\n";
  EXPECT_EQ(load_model(path).momentum, 0.5);
  EXPECT_EQ(load_model(path, {"training.optimizer=adam"}).optimizer, Optimizer::adam);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace moe::setting_test
