#include "moe/model/layout_way_out.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/model/model.h"

namespace moe::layout_way_out_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// The ways that a refusal names, each by itself.
std::vector<std::string> ways_in(const std::string& message) {
  constexpr std::string_view expected = ": expected ", either = " or ";
  const std::size_t at = message.rfind(expected);
  std::vector<std::string> ways;
  if (at == std::string::npos) return ways;
  std::string rest = message.substr(at + expected.size());
  for (std::size_t end = 0; end != std::string::npos; rest.erase(0, end + either.size())) {
    end = rest.find(either);
    ways.push_back(rest.substr(0, end));
    if (end == std::string::npos) break;
  }
  return ways;
}

/// The value of an option in a way out such as "--ranks 2 --layout ep=2"; "" where it has none.
std::string option_in(const std::string& way, const std::string& option) {
  const std::size_t at = way.find(option + " ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + option.size() + 1;
  return way.substr(begin, way.find(' ', begin) - begin);
}

std::string table_of(const std::string& key) {
  for (const char* of_training : {"global_batch", "batch_per", "micro_batches"}) {
    if (key == of_training) return "training";
  }
  for (const char* of_model : {"heads", "key_value_heads", "blocks", "d_hidden", "head"}) {
    if (key == of_model) return "model";
  }
  return "moe";
}

/// Model files as people write and change them.
class LayoutWayOut : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  Model load(const std::string& text) {
    std::ofstream(directory_ / "below.toml") << text;
    return load_model(directory_ / "below.toml");
  }

  static std::string refusal(const Model& model, const Layout& layout) {
    try {
      check(model, make_groups(layout));
    } catch (const Refusal& error) {
      return error.what();
    }
    return "";
  }

  /// The error for the model that was loaded last when somebody follows the way out.
  std::string follow(const std::string& way, const Layout& layout) {
    try {
      if (way.starts_with("--")) {
        const std::string ranks = option_in(way, "--ranks");
        const Layout other = parse_layout(option_in(way, "--layout"),
                                          ranks.empty() ? rank_count(layout) : std::stoi(ranks));
        return refusal(load_model(directory_ / "below.toml"), other);
      }
      std::ofstream(directory_ / "changed.toml")
          << "base = \"below\"\n[" << table_of(way.substr(0, way.find(' '))) << "]\n"
          << way << "\n";
      return refusal(load_model(directory_ / "changed.toml"), layout);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  const fs::path directory_ =
      fs::path(::testing::TempDir()) / ("moelab-what-fits-" + std::to_string(getpid()));
};

std::string model_text(const std::string& model, const std::string& moe,
                       const std::string& training) {
  return "[model]\nsequence_length = 16\nd_model = 48\nd_hidden = 60\n" + model + "[moe]\n" + moe +
         "[training]\n" + training;
}

TEST_F(LayoutWayOut, NamesLayoutsRanksAndKeys) {
  const Model model = load(model_text("heads = 4\nblocks = 4\n", "experts = 8\nchoices = 2\n",
                                      "global_batch = 16\nmicro_batches = 2\n"));
  EXPECT_EQ(refusal(model, {1, 4, 1}), "");
  EXPECT_EQ(refusal(model, {1, 3, 1}),
            "model below: global_batch = 16 does not divide by 3 ranks times 2 micro_batches: "
            "expected --layout ep=1,pp=3 or global_batch = 12 or global_batch = 18 or --ranks 2 "
            "--layout ep=2");
  EXPECT_EQ(refusal(model, {3, 1, 1}),
            "model below: global_batch = 16 does not divide by 3 ranks times 2 micro_batches: "
            "expected --layout ep=1,pp=3 or global_batch = 12 or global_batch = 18 or --ranks 2 "
            "--layout dp=2,ep=1");
  EXPECT_EQ(refusal(model, {1, 16, 1}),
            "model below: global_batch = 16 does not divide by 16 ranks times 2 micro_batches: "
            "expected --layout ep=8,pp=2 or --ranks 8 --layout ep=8");
  EXPECT_EQ(refusal(model, {8, 1, 1, 8}),
            "model below: heads = 4 does not divide by 8 ranks that attention is cut over (tp): "
            "expected --layout dp=8,ep=1,tp=4 or --ranks 4 --layout dp=4,ep=1,tp=4");
}

TEST_F(LayoutWayOut, EveryWayThatIsNamedWorksWhenItIsFollowed) {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  int refused = 0, followed = 0;
  for (int i = 0; i < 400; ++i) {
    const int micro_batches = pick({1, 1, 2, 3, 4});
    std::string moe = fmt::format("experts = {}\nchoices = {}\nmoe_every = {}\n",
                                  pick({4, 6, 8, 12}), pick({1, 2, 4}), pick({0, 1, 2}));
    if (random() % 3 == 0) moe += fmt::format("d_expert = {}\n", pick({18, 20, 32}));
    if (random() % 3 == 0) moe += fmt::format("shared_experts = {}\n", pick({1, 3}));
    if (random() % 2 == 0) {
      moe += fmt::format("capacity_factor = 1.25\ncapacity_groups = {}\n", pick({4, 12, 32}));
    }
    const int heads = pick({1, 2, 4, 6, 8, 12});
    Model model;
    try {
      model = load(
          model_text(fmt::format("heads = {}\nkey_value_heads = {}\nblocks = {}\nhead = \"{}\"\n",
                                 heads, heads % 2 == 0 && random() % 2 ? heads / 2 : heads,
                                 pick({2, 3, 5}), random() % 4 ? "untied" : "tied"),
                     moe,
                     fmt::format("global_batch = {}\nmicro_batches = {}\n",
                                 micro_batches * pick({4, 6, 8, 10, 16}), micro_batches)));
    } catch (const std::exception&) {
      continue;  // capacity groups that no number of ranks divides
    }
    Layout layout{pick({1, 2, 3}), pick({1, 2, 3, 4, 5}), pick({1, 1, 2, 3}), 1,
                  pick({1, 1, 2, 3, 4})};
    const std::vector<int> cuts = divisors(stage_ranks(layout));
    layout.tensor = cuts[random() % cuts.size()];
    const std::string said = refusal(model, layout);
    if (said.empty()) continue;
    ++refused;
    const std::vector<std::string> ways = ways_in(said);
    EXPECT_FALSE(ways.empty()) << said;
    for (const std::string& way : ways) {
      ++followed;
      EXPECT_EQ(follow(way, layout), "") << said << "\n" << to_text(layout) << " " << way;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(followed, refused);
}

TEST_F(LayoutWayOut, IsSaidAtOnceOfTokensThatLittleDivides) {
  Model model;
  model.name = "prime";
  model.global_batch = 16777213;
  model.capacity_groups = model.sequence_length = 64;
  model.capacity_factor = 1;
  EXPECT_EQ(refusal(model, {}), "");
  model.capacity_groups = 96;
  EXPECT_EQ(refusal(model, {}),
            "model prime: 1073741632 tokens (global_batch = 16777213 times sequence_length = 64) "
            "do not divide into 96 capacity groups: expected capacity_groups = 64");
}

TEST_F(LayoutWayOut, OfLayoutsOfOtherRanksTheNearestThatTheModelFitsAreNamed) {
  const Model model =
      load(model_text("heads = 4\nblocks = 1\n", "experts = 8\nchoices = 2\nmoe_every = 1\n",
                      "global_batch = 48\n"));
  const auto said = [](const std::string& layout, int ranks, const LayoutFits& fits) {
    try {
      parse_layout(layout, ranks, fits);
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(said("pp=4,ep=1", 6, {}), HasSubstr("nearest: dp=1,ep=1,esp=1,tp=1,pp=6 or "));
  EXPECT_EQ(
      said("pp=4,ep=1", 6, fits(model)),
      "layout pp=4,ep=1 makes 4 ranks, but there are 6: nearest: dp=6,ep=1,esp=1,tp=1,pp=1 or "
      "dp=3,ep=2,esp=1,tp=1,pp=1 or dp=2,ep=3,esp=1,tp=1,pp=1");
  EXPECT_EQ(refusal(model, {6, 1, 1}), "");
}

TEST_F(LayoutWayOut, MasksThatNoRankCanHoldAreRefusedWithWhatWouldMakeThemFit) {
  Model model =
      load(model_text("heads = 4\nblocks = 2\n", "experts = 8\nchoices = 2\norder = \"einsum\"\n",
                      "global_batch = 4194304\n"));
  // T = 2^26 tokens, 2 T rows: two masks of 2 T^2 elements.
  EXPECT_THAT(refusal(model, {}),
              HasSubstr("1.8e+16 of them of masks of token x slot, are more than 1e+16: lower "));
  const auto ways = ways_in(refusal(model, {}));
  EXPECT_THAT(
      ways, ::testing::ElementsAre("micro_batches = 2", "micro_batches = 4", "order = \"sparse\""));
  for (const std::string& way : ways) EXPECT_EQ(follow(way, {}), "") << way;
  EXPECT_EQ(refusal(model, {2, 1, 1}), "") << "ranks divide them";
}

}  // namespace
}  // namespace moe::layout_way_out_test
