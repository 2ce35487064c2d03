#include "tuner/scenario/routing_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/rows/routing_file.h"
#include "tests/tuner/scenario/two_rank_program.h"
#include "tuner/scenario/gated_layers.h"

namespace tuner::routing_spec_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct RoutingSpecTest : test::TwoRankProgram {
  std::string error_of(const std::string& text) {
    try {
      make_routing(text, program, groups, 1);
    } catch (const moe::InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(RoutingSpecTest, UniformSharesEveryCopyOut) {
  const auto routing = make_routing("uniform", program, groups, 1);
  ASSERT_EQ(routing.layers.size(), 2u);
  EXPECT_EQ(routing.layers[0].layer, 1);
  EXPECT_EQ(routing.layers[1].layer, 3);
  for (const auto& row : routing.layers[1].tokens) {
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), std::int64_t{0}), 8 / 2 * 64 * 2);
    EXPECT_EQ(row.front(), row.back());
  }
}

TEST_F(RoutingSpecTest, ZipfIsUnevenAndDiffersByLayer) {
  const auto routing = make_routing("zipf:1.2", program, groups, 1);
  const auto& row = routing.layers[0].tokens[0];
  EXPECT_GT(std::ranges::max(row), 10 * std::ranges::min(row));
  EXPECT_NE(routing.layers[0].tokens, routing.layers[1].tokens);
}

TEST_F(RoutingSpecTest, DriftHasTheSameLoadsInOtherPlacesFromIterationToIteration) {
  const auto routings = make_routings("drift:1.2:0.05:9", program, groups, 1);
  ASSERT_EQ(routings.size(), 9u);
  auto sorted = routings[0].layers[1].tokens[0];
  std::ranges::sort(sorted);
  for (const auto& routing : routings) {
    ASSERT_EQ(routing.layers.size(), 2u);
    EXPECT_EQ(moe::source_ranks(routing.layers[1]), 2);
    auto row = routing.layers[1].tokens[0];
    std::ranges::sort(row);
    EXPECT_EQ(row, sorted) << "as uneven as zipf:1.2 in each iteration";
  }
  EXPECT_NE(routings[0].layers[0].tokens, routings[0].layers[1].tokens);
  EXPECT_NE(routings.front().layers[0].tokens, routings.back().layers[0].tokens);
  const auto still = make_routings("drift:1.2:0:3", program, groups, 1);
  EXPECT_EQ(still.front().layers[0].tokens, still.back().layers[0].tokens);
}

TEST_F(RoutingSpecTest, AFolderIsAnIterationAFileInTheOrderOfTheirNumbers) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("loads" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  EXPECT_THAT(error_of(folder), HasSubstr("no .json file in this folder"));
  const auto routings = make_routings("drift:1:0.5:12", program, groups, 1);
  for (std::size_t i = 0; i < routings.size(); ++i) {
    std::ofstream(folder / fmt::format("iteration-{}.json", i)) << moe::to_json(routings[i]);
  }
  std::ofstream(folder / "notes.txt") << "no loads";
  const auto read = make_routings(folder, program, groups, 1);
  ASSERT_EQ(read.size(), routings.size());
  for (std::size_t i = 0; i < routings.size(); ++i) {
    EXPECT_EQ(moe::to_json(read[i]), moe::to_json(routings[i])) << i;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(RoutingSpecTest, DriftOfAnotherFormIsRefusedWithTheForm) {
  for (const char* text :
       {"drift:", "drift:1.2", "drift:1.2:0.1", "drift:1.2:0.1:", "drift:1.2:0.1:0",
        "drift:1.2:0.1:2.5", "drift:1.2:1.1:4", "drift:1.2:0.1:1001", "drift:21:0.1:4",
        "drift:1:0:4:1", "drift:1:0:4:", "drift:x:0:4", "drift:1:-0.1:4"}) {
    EXPECT_THAT(error_of(text), HasSubstr("as in drift:1.2:0.05:8")) << text;
  }
}

TEST_F(RoutingSpecTest, CapacityDropsWhatIsOverIt) {
  model.capacity_factor = 1.0;
  program = moe::build_iteration(model, groups, 0);
  const auto routing = make_routing("zipf:2", program, groups, 1);
  for (const auto& row : routing.layers[0].tokens) {
    for (const std::int64_t tokens : row) EXPECT_LE(tokens, 2 * 256 / 8);
  }
}

TEST_F(RoutingSpecTest, CapacityDropsFromAFileToo) {
  const std::string path =
      ::testing::TempDir() + "/routing_spec_test.json" + std::to_string(getpid());
  std::ofstream(path) << moe::to_json(make_routing("zipf:2", program, groups, 1));
  model.capacity_factor = 1.0;
  program = moe::build_iteration(model, groups, 0);
  EXPECT_EQ(moe::to_json(make_routing(path, program, groups, 1)),
            moe::to_json(make_routing("zipf:2", program, groups, 1)));
  std::remove(path.c_str());
}

TEST_F(RoutingSpecTest, ExpertsThatAreAlwaysFullLeaveNothingToAskFor) {
  const std::string path =
      ::testing::TempDir() + "/routing_full_test.json" + std::to_string(getpid());
  model.capacity_factor = 1.25;
  for (const char* gate : {"expert_choice", "soft_moe"}) {
    model.gate = gate;
    model.order = "einsum";
    model.capacity_groups = 2;
    program = moe::build_iteration(model, groups, 0);
    // 4 sequences of 64 tokens on a rank, one group: 2 * 1.25 * 256 / 8.
    const auto routing = make_routing("uniform", program, groups, 1);
    for (const auto& row : routing.layers.at(1).tokens) {
      EXPECT_EQ(row, std::vector<std::int64_t>(8, 80)) << gate;
    }
    EXPECT_EQ(error_of("zipf:2"),
              "routing \"zipf:2\": the gate of layer 1 gives every expert 80 copies from every "
              "rank whatever its tokens are: expected uniform");
    EXPECT_EQ(error_of("zipf:0"), "no error") << "which is uniform";
    std::ofstream(path) << moe::to_json(routing);
    EXPECT_EQ(error_of(path), "no error") << "what a run of this model routed";
    moe::Routing other = moe::with_all_rows(routing);
    other.layers[1].tokens[1][3] = 300;
    std::ofstream(path) << moe::to_json(other);
    EXPECT_THAT(error_of(path),
                HasSubstr("the gate of layer 3 gives every expert 80 copies from every rank "
                          "whatever its tokens are, not 300 from rank 1: expected uniform"));
  }
  std::remove(path.c_str());
}

TEST_F(RoutingSpecTest, OneRowStandsForAllRanks) {
  groups = moe::make_groups(131'072, 2);
  for (const char* text : {"uniform", "zipf:1.2"}) {
    const auto routing = make_routing(text, program, groups, 1);
    ASSERT_EQ(routing.layers[1].tokens.size(), 1u) << text;
    EXPECT_EQ(moe::source_ranks(routing.layers[1]), 131'072) << text;
    EXPECT_EQ(&moe::tokens_from(routing.layers[1], 131'071), &routing.layers[1].tokens[0]) << text;
  }
}

TEST_F(RoutingSpecTest, ErrorsSayWhatWasExpected) {
  for (const char* text : {"zipf:x", "zipf:-1", "zipf:", "zipf:nan", "zipf:inf", "zipf:1e300"}) {
    EXPECT_THAT(error_of(text), HasSubstr("expected zipf: and an exponent from 0 to 20")) << text;
  }
  EXPECT_THAT(
      error_of("unifrom"),
      HasSubstr(
          "expected uniform, zipf:EXPONENT, drift:EXPONENT:SHARE:ITERATIONS, a file or a folder"));
}

TEST_F(RoutingSpecTest, AFileMustFitTheProgram) {
  const std::string path =
      ::testing::TempDir() + "/routing_spec_test.json" + std::to_string(getpid());
  const auto write = [&](const moe::Routing& routing) {
    std::ofstream(path) << moe::to_json(routing);
  };
  const auto sound = moe::with_all_rows(make_routing("zipf:1", program, groups, 1));
  write(sound);
  EXPECT_EQ(moe::to_json(make_routing(path, program, groups, 1)), moe::to_json(sound));
  auto wrong = sound;
  wrong.layers.pop_back();
  write(wrong);
  EXPECT_THAT(error_of(path), HasSubstr("no routing for layer 3"));
  wrong = sound;
  wrong.layers[0].tokens.pop_back();
  write(wrong);
  EXPECT_THAT(error_of(path), HasSubstr("8 experts on 2 ranks expected, got 8 experts on 1 ranks"));
  wrong = sound;
  wrong.layers[0].tokens[1] = {257, 255, 0, 0, 0, 0, 0, 0};
  write(wrong);
  EXPECT_THAT(error_of(path), HasSubstr("rank 1 sends expert 0 257 copies, expected at most 256"));
  wrong = sound;
  wrong.layers[0].tokens[1][3] += 1;
  write(wrong);
  EXPECT_THAT(
      error_of(path),
      HasSubstr("layer 1: rank 1 asks for 513 copies, expected 512: 2 of each of its 256 tokens"));
  std::ofstream(path) << "{";
  EXPECT_THAT(error_of(path), HasSubstr(path));
  std::remove(path.c_str());
}

TEST_F(RoutingSpecTest, AFileOfOtherMicroBatchesIsOfTheWholeIteration) {
  const std::string path =
      ::testing::TempDir() + "/routing_parts_test.json" + std::to_string(getpid());
  const auto whole = make_routing("zipf:1", program, groups, 1);
  for (const int of_file : {2, 4}) {
    std::ofstream(path) << moe::to_json(moe::share_among_micro_batches(whole, of_file));
    for (const int of_model : {1, 2, 4}) {
      model.micro_batches = of_model;
      const moe::Program parts = moe::build_iteration(model, groups, 0);
      const auto read = make_routing(path, parts, groups, 1);
      EXPECT_EQ(read.layers.size(), 2u * static_cast<std::size_t>(of_model));
      EXPECT_EQ(moe::to_json(moe::add_micro_batches(read)), moe::to_json(whole));
    }
  }
  std::remove(path.c_str());
}

/// A file of one test, gone after it.
struct RoutingFile {
  std::string path = ::testing::TempDir() + "/routing_file_test.json" + std::to_string(getpid());
  explicit RoutingFile(const std::string& text) { std::ofstream(path) << text; }
  ~RoutingFile() { std::remove(path.c_str()); }
  RoutingFile(const RoutingFile&) = delete;
  RoutingFile& operator=(const RoutingFile&) = delete;
};

std::int64_t copies_in(const std::vector<std::int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

TEST_F(RoutingSpecTest, AFileThatLacksCopiesIsRefusedWithWhatLacks) {
  auto lacking = moe::with_all_rows(make_routing("uniform", program, groups, 1));
  lacking.layers[1].tokens[0][2] -= 7;
  EXPECT_THAT(error_of(RoutingFile(moe::to_json(lacking)).path),
              HasSubstr("layer 3: rank 0 asks for 505 copies, expected 512: 2 of each of its 256 "
                        "tokens. \"asked\" beside \"tokens\""));
  for (auto& row : lacking.layers[0].tokens) std::ranges::fill(row, 0);
  EXPECT_THAT(error_of(RoutingFile(moe::to_json(lacking)).path),
              HasSubstr("layer 1: rank 0 asks for 0 copies, expected 512"));
  // With a capacity too: what it dropped is not to be guessed.
  model.capacity_factor = 1.0;
  program = moe::build_iteration(model, groups, 0);
  const auto dropped = make_routing("zipf:2", program, groups, 1);
  EXPECT_THAT(error_of(RoutingFile(moe::to_json(dropped)).path), HasSubstr("expected 512"));
  model.micro_batches = 2;
  model.capacity_factor.reset();
  program = moe::build_iteration(model, groups, 0);
  EXPECT_THAT(
      error_of(RoutingFile(moe::to_json(lacking)).path),
      HasSubstr("layer 1, all micro-batches together: rank 0 asks for 0 copies, expected 512"));
}

TEST_F(RoutingSpecTest, WhatTravelsFollowsFromTheCopiesAskedForAndTheCapacity) {
  moe::Routing recorded = moe::with_all_rows(make_routing("zipf:2", program, groups, 1));
  const moe::Routing asked = recorded;
  model.capacity_factor = 1.0;
  model.capacity_groups = 4;  // two of a rank, of 32 rows each
  program = moe::build_iteration(model, groups, 0);
  for (auto& layer : recorded.layers) {
    layer.asked = layer.tokens;
    for (auto& row : layer.tokens) {
      // Of 128 tokens each: of fewer copies, the second group asks for 29 at most.
      for (auto& tokens : row) tokens = std::min<std::int64_t>(tokens, tokens < 160 ? 61 : 64);
    }
  }
  std::string text = moe::to_json(recorded);
  const std::string capacity = R"({"capacity_factor": 1.0, "capacity_groups": 4, )";
  text = capacity + text.substr(1);
  EXPECT_EQ(moe::to_json(make_routing(RoutingFile(text).path, program, groups, 1)),
            moe::to_json(moe::Routing{[&] {
              auto kept = recorded.layers;
              for (auto& layer : kept) layer.asked.clear();
              return kept;
            }()}))
      << "as it was recorded, where the capacity is the same";

  for (const double factor : {0.5, 2.0}) {
    model.capacity_factor = factor;
    program = moe::build_iteration(model, groups, 0);
    EXPECT_EQ(moe::to_json(make_routing(RoutingFile(text).path, program, groups, 1)),
              moe::to_json(make_routing("zipf:2", program, groups, 1)))
        << factor;
  }
  model.capacity_factor.reset();
  program = moe::build_iteration(model, groups, 0);
  EXPECT_EQ(moe::to_json(make_routing(RoutingFile(text).path, program, groups, 1)),
            moe::to_json(asked))
      << "dropless: all of them";
}

TEST_F(RoutingSpecTest, WhatTravelledMustBeWhatTheCapacityLeaves) {
  moe::Routing recorded = moe::with_all_rows(make_routing("uniform", program, groups, 1));
  for (auto& layer : recorded.layers) layer.asked = layer.tokens;  // 64 of each expert
  model.capacity_factor = 1.0;
  const auto error_with = [&](std::int64_t kept, int capacity_groups) {
    model.capacity_groups = capacity_groups;
    program = moe::build_iteration(model, groups, 0);
    moe::Routing other = recorded;
    other.layers[1].tokens[1][3] = kept;
    const std::string text =
        fmt::format(R"({{"capacity_factor": 1.0, "capacity_groups": {}, )", capacity_groups);
    return error_of(RoutingFile(text + moe::to_json(other).substr(1)).path);
  };
  EXPECT_THAT(error_with(0, 2),
              HasSubstr("layer 3: of 64 copies that rank 1 asked expert 3 for, 0 travelled in "
                        "\"tokens\": expected 64, under a capacity of 64"));
  // Of two groups of a rank with room for 32 each, one may have asked for all.
  EXPECT_THAT(error_with(31, 4), HasSubstr("expected 32 to 64, under a capacity of 32 in each of 2 "
                                           "groups"));
  EXPECT_EQ(error_with(32, 4), "no error");
  // More than there is room for: 64 of 100.
  recorded.layers[1].asked[1][3] = 100;
  recorded.layers[1].asked[1][4] = recorded.layers[1].tokens[1][4] = 28;
  EXPECT_THAT(error_with(100, 2), HasSubstr("of 100 copies that rank 1 asked expert 3 for, 100 "
                                            "travelled in \"tokens\": expected 64, under"));
}

TEST_F(RoutingSpecTest, LayersOfAFileThatTheModelDoesNotHaveAreNamed) {
  moe::Routing more = moe::with_all_rows(make_routing("uniform", program, groups, 1));
  more.layers.push_back(more.layers.front());
  more.layers.back().layer = 9;
  const RoutingFile file(moe::to_json(more));
  std::vector<std::string> said;
  const auto read = make_routings(file.path, program, groups, 1, [&](const std::string& text) {
                      said.push_back(text);
                    }).front();
  EXPECT_EQ(read.layers.size(), 2u);
  EXPECT_THAT(said, ElementsAre(file.path + ": the model has no MoE layer 9, only 1, 3: what the "
                                            "file has of it is not used"));
}

TEST_F(RoutingSpecTest, CountsOfAnyTotalAreScaledToTheCopiesOfTokensAndThatIsSaid) {
  const RoutingFile file("[[6, 2, 0, 0, 0, 4, 4, 0], [1, 1, 1, 1, 1, 1, 1, 1]]");
  std::vector<std::string> said;
  const auto routing = make_routings(file.path, program, groups, 1, [&](const std::string& text) {
                         said.push_back(text);
                       }).front();
  ASSERT_EQ(routing.layers.size(), 2u);
  EXPECT_EQ(routing.layers[0].layer, 1) << "the MoE layers in their order";
  EXPECT_EQ(moe::tokens_from(routing.layers[0], 1),
            (std::vector<std::int64_t>{192, 64, 0, 0, 0, 128, 128, 0}));
  EXPECT_EQ(moe::tokens_from(routing.layers[1], 0), std::vector<std::int64_t>(8, 64));
  EXPECT_EQ(moe::source_ranks(routing.layers[0]), 2);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said.front(), HasSubstr("counts of 2 layers are scaled to the copies that tokens ask "
                                      "for: of layer 1 from 16 to 512 of each of 2 ranks, alike"));
  const RoutingFile shares("[[0.375, 0.125, 0, 0, 0, 0.25, 0.25, 0], [1, 1, 1, 1, 1, 1, 1, 1]]");
  const auto same = make_routings(shares.path, program, groups, 1, [&](const std::string& text) {
                      said.push_back(text);
                    }).front();
  EXPECT_EQ(same.layers[0].tokens, routing.layers[0].tokens);
  EXPECT_THAT(said.back(), HasSubstr("of layer 1 to 512 of each of 2 ranks, alike"));
  said.clear();

  // By rank, and of numbered layers.
  const RoutingFile by_rank(
      R"({"layers": [{"layer": 3, "counts": [[1,1,0,0,0,0,0,1], [1,1,1,1,1,1,1,1]]},
                                           {"layer": 1, "counts": [[5000000000,1,1,1,1,1,1,5000000000]]}]})");
  const auto other = make_routing(by_rank.path, program, groups, 1);
  EXPECT_EQ(other.layers[1].tokens[0], (std::vector<std::int64_t>{171, 171, 0, 0, 0, 0, 0, 170}));
  for (const auto& layer : other.layers) {
    for (const auto& row : layer.tokens) EXPECT_EQ(copies_in(row), 512);
  }
}

TEST_F(RoutingSpecTest, CountsOfLayersFromZeroAreTakenInTheOrderOfTheModels) {
  const RoutingFile file(
      R"({"choices": 2, "layers": [{"layer": 1, "counts": [[1,1,1,1,1,1,1,1]]},
                                    {"layer": 0, "counts": [[6,2,0,0,0,4,4,0]]}]})");
  std::vector<std::string> said;
  const auto routing = make_routings(file.path, program, groups, 1, [&](const std::string& text) {
                         said.push_back(text);
                       }).front();
  EXPECT_EQ(routing.layers.at(0).layer, 1);
  EXPECT_EQ(moe::tokens_from(routing.layers[0], 0),
            (std::vector<std::int64_t>{192, 64, 0, 0, 0, 128, 128, 0}));
  EXPECT_THAT(said, ElementsAre(file.path + ": layers 0 to 1 are taken as the model's MoE layers "
                                            "1, 3, in their order",
                                HasSubstr("are scaled to the copies that tokens ask for")));
}

TEST_F(RoutingSpecTest, CountsOfOtherRanksAreTakenTogether) {
  const RoutingFile file(
      R"({"layers": [{"layer": 1, "counts": [[6,0,0,0,0,0,0,0], [0,2,0,0,0,0,0,0], [0,0,0,0,0,4,4,0]]},
                     {"layer": 3, "counts": [[1,0,0,1,0,0,1,0], [0,1,0,0,1,0,0,1], [0,0,1,0,0,1,0,0]]}]})");
  std::vector<std::string> said;
  const auto routing = make_routings(file.path, program, groups, 1, [&](const std::string& text) {
                         said.push_back(text);
                       }).front();
  EXPECT_EQ(moe::tokens_from(routing.layers[0], 1),
            (std::vector<std::int64_t>{192, 64, 0, 0, 0, 128, 128, 0}));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said.front(), HasSubstr("each of 2 ranks, alike, of 3 ranks together"));
}

TEST_F(RoutingSpecTest, CountsThatNoTokensCouldHaveAreRefused) {
  EXPECT_THAT(error_of(RoutingFile(R"({"choices": 1, "layers": [
                  {"layer": 1, "counts": [[1,1,1,1,1,1,1,1]]},
                  {"layer": 3, "counts": [[1,1,1,1,1,1,1,1]]}]})")
                           .path),
              HasSubstr("a token of these counts chose 1 experts: expected 2, as in the model"));
  EXPECT_THAT(error_of(RoutingFile("[[0,0,0,0,0,0,0,0], [1,1,1,1,1,1,1,1]]").path),
              HasSubstr("layer 1: all 8 counts are 0: expected one above 0"));
  EXPECT_THAT(error_of(RoutingFile("[[1,1,1,1,1,1,1,1]]").path),
              HasSubstr("counts of 1 layers: expected 2, one list for each MoE layer"));
  EXPECT_THAT(error_of(RoutingFile("[[1,1,1], [1,1,1]]").path), HasSubstr("8 experts"));
  EXPECT_THAT(error_of(RoutingFile("[[9,1,1,1,0,0,0,0], [1,1,1,1,1,1,1,1]]").path),
              HasSubstr("layer 1: expert 0 has 9 of 12 counts: expected at most one in 2, since a "
                        "token chooses 2 different experts"));
  EXPECT_THAT(error_of(RoutingFile("[[1,1,1,1,1,1,1,-1], [1,1,1,1,1,1,1,1]]").path),
              HasSubstr("expected a count from 0 to 1e12, got -1"));
}

TEST_F(RoutingSpecTest, TheGateOfEachModelAsksForTheCopiesThatFilesAreCheckedAgainst) {
  for (const char* gate :
       {"softmax", "gshard", "sigmoid", "x_moe", "batch_prioritized", "bias_adjusted", "hash",
        "random", "expert_choice", "soft_moe", "sinkhorn"}) {
    model.gate = gate;
    model.auxiliary_weight = 0;
    model.capacity_factor = 1.25;
    model.order = model.gate == "soft_moe" ? "einsum" : "sparse";
    model.capacity_groups = 2;  // one of each rank
    program = moe::build_iteration(model, groups, 0);
    const auto layers = gated_layers(program);
    ASSERT_EQ(layers.size(), 2u) << gate;
    const bool full = model.gate == "expert_choice" || model.gate == "soft_moe";
    EXPECT_EQ(layers[0].full, full) << gate;
    EXPECT_EQ(layers[0].copies, full ? 8 * 80 : 2 * 256) << gate;
  }
}

}  // namespace
}  // namespace tuner::routing_spec_test
