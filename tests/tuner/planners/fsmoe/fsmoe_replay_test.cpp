#include "tests/tuner/planners/fsmoe/fsmoe_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/tuner/planners/fsmoe/drawn_phase.h"
#include "tuner/planners/fsmoe/fsmoe.h"

namespace tuner::fsmoe_replay_test {
namespace {

using namespace test;

/// The longest path through the tasks, each an edge to the next of its chunk and to the next of its
/// stream's queue.
double longest_path(int r, const ChunkTimes& t, double gar_s, bool one_stream) {
  std::map<std::string, double> seconds{{"gar", gar_s}};
  std::map<std::string, std::vector<std::string>> after;
  std::vector<std::string> inter, intra, compute;
  const auto name = [](const char* what, int i) { return what + std::to_string(i); };
  for (int i = 0; i < r; ++i) {
    std::string last;
    for (const auto& [what, length] :
         {std::pair{"D", t.a2a}, {"AG", t.ag}, {"E", t.exp}, {"RS", t.rs}, {"C", t.a2a}}) {
      seconds[name(what, i)] = length;
      if (!last.empty()) after[last].push_back(name(what, i));
      last = name(what, i);
    }
    inter.push_back(name("D", i));
    (one_stream ? inter : intra).push_back(name("AG", i));
    compute.push_back(name("E", i));
  }
  inter.push_back("gar");
  for (int i = 0; i < r; ++i) {
    (one_stream ? inter : intra).push_back(name("RS", i));
    inter.push_back(name("C", i));
  }
  for (const auto* queue : {&inter, &intra, &compute}) {
    for (std::size_t i = 1; i < queue->size(); ++i) after[(*queue)[i - 1]].push_back((*queue)[i]);
  }
  std::map<std::string, double> known;
  const std::function<double(const std::string&)> from = [&](const std::string& task) {
    if (const auto found = known.find(task); found != known.end()) return found->second;
    double rest = 0;
    for (const std::string& next : after[task]) rest = std::max(rest, from(next));
    return known[task] = seconds[task] + rest;
  };
  double longest = 0;
  for (const auto& [task, length] : seconds) longest = std::max(longest, from(task));
  return longest;
}

TEST(FsmoeReplay, WorkedByHand) {
  // r = 2. D 0-1 1-2; AG 1-3 3-5; E 3-4 5-6; RS 5-7 7-9; C 7-8 9-10.
  EXPECT_DOUBLE_EQ(replay_s(2, {1, 2, 2, 1}, 0), 10);
  EXPECT_DOUBLE_EQ(replay_s(2, {1, 2, 2, 1}, 6), 10);  // 2-8: C 8-9 9-10
  EXPECT_DOUBLE_EQ(replay_s(2, {1, 2, 2, 1}, 7), 11);
  // One stream: D 0-1 AG 1-3 D 3-4 AG 4-6; E 3-4 6-7; RS 6-8 C 8-9 RS 9-11 C 11-12.
  EXPECT_DOUBLE_EQ(replay_on_one_stream_s(2, {1, 2, 2, 1}, 0), 12);
  EXPECT_THROW(replay_s(0, {}, 0), std::invalid_argument);
}

TEST(FsmoeReplay, IsTheLongestPathOfTheGraph) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    const MoePhase phase = draw_phase(random, false);
    const int r = 1 + static_cast<int>(random() % 6);
    const ChunkTimes t = chunk_times(phase, r);
    EXPECT_NEAR(replay_s(r, t, phase.gar_s), longest_path(r, t, phase.gar_s, false), 1e-9);
    EXPECT_NEAR(replay_on_one_stream_s(r, t, phase.gar_s), longest_path(r, t, phase.gar_s, true),
                1e-9);
  }
}

TEST(FsmoeReplay, OneChunkIsTheSumOrTheGradients) {
  const ChunkTimes t{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(replay_s(1, t, 0), 11);
  EXPECT_DOUBLE_EQ(replay_s(1, t, 20), 22);
  EXPECT_DOUBLE_EQ(replay_on_one_stream_s(1, t, 0), 11);
}

/// Over 10,000 draws: how often the closed form is what the launch order takes, by how much it is
/// below at most, and what choosing by it costs.
struct Comparison {
  double exact = 0;
  double most_below = 0;
  double most_lost = 0;
};
Comparison compared(bool alike) {
  std::mt19937 random(3);
  constexpr int draws = 10000;
  Comparison result;
  for (int i = 0; i < draws; ++i) {
    const MoePhase phase = draw_phase(random, alike);
    const int r = 1 + static_cast<int>(random() % 8);
    const double closed_s = moe_phase_s(r, phase);
    const double replayed_s = replay_s(r, chunk_times(phase, r), phase.gar_s);
    EXPECT_LE(closed_s, replayed_s * (1 + 1e-12));
    if (closed_s >= replayed_s * (1 - 1e-12)) result.exact += 1.0 / draws;
    result.most_below = std::max(result.most_below, 1 - closed_s / replayed_s);
    const int chosen = degree_by_equations(phase, 8).chunks;
    const double lost = replay_s(chosen, chunk_times(phase, chosen), phase.gar_s) /
                            degree_by_replay(phase, 8).seconds -
                        1;
    result.most_lost = std::max(result.most_lost, lost);
  }
  return result;
}

TEST(FsmoeReplay, IsNeverBelowTheClosedFormAndMostlyEqualWhereScattersAreLikeGathers) {
  const Comparison alike = compared(true);
  EXPECT_GT(alike.exact, 0.95);
  EXPECT_LT(alike.most_below, 0.10);
  EXPECT_LT(alike.most_lost, 0.06);
}

TEST(FsmoeReplay, IsNeverBelowTheClosedFormWhateverTheTasks) {
  const Comparison any = compared(false);
  EXPECT_GT(any.exact, 0.70);
  EXPECT_LT(any.exact, 0.90);
  EXPECT_GT(any.most_below, 0.5);
  EXPECT_GT(any.most_lost, 0.2) << "choose by replay, or by simulation";
}

}  // namespace
}  // namespace tuner::fsmoe_replay_test
