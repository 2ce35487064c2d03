#include "moe/passes/stage_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace moe::test::stage_orders_test {
namespace {

PipelineTimes even_times(int stages, const PassTimes& times) {
  return {std::vector<PassTimes>(static_cast<std::size_t>(stages), times)};
}

std::int64_t all_of(const PassTimes& times) {
  return times.forward + times.backward + times.weight_gradient;
}

/// How much longer an iteration takes than the work of a stage.
std::int64_t bubble(const StageOrders& orders, int micro_batches, const PassTimes& times) {
  std::int64_t end = 0;
  for (const TimedTask& one : in_time(orders, even_times(static_cast<int>(orders.size()), times))) {
    end = std::max(end, one.end);
  }
  return end - micro_batches * all_of(times);
}

/// The longest time that a stage is idle between its first and its last task.
std::int64_t longest_idle(const StageOrders& orders, int micro_batches, const PassTimes& times) {
  std::vector<std::int64_t> first(orders.size(), -1), last(orders.size(), 0);
  for (const TimedTask& one : in_time(orders, even_times(static_cast<int>(orders.size()), times))) {
    const auto stage = static_cast<std::size_t>(one.stage);
    if (first[stage] < 0) first[stage] = one.begin;
    last[stage] = one.end;
  }
  std::int64_t idle = 0;
  for (std::size_t s = 0; s < orders.size(); ++s) {
    idle = std::max(idle, last[s] - first[s] - micro_batches * all_of(times));
  }
  return idle;
}

/// The most micro-batches at a time from a forward pass to the last pass of the same micro-batch.
int most_in_flight(const std::vector<StageTask>& tasks) {
  const bool apart = std::ranges::any_of(
      tasks, [](const StageTask& task) { return task.pass == Pass::weight_gradient; });
  const Pass last = apart ? Pass::weight_gradient : Pass::backward;
  int now = 0, most = 0;
  for (const StageTask& task : tasks) {
    if (task.pass == Pass::forward) most = std::max(most, ++now);
    if (task.pass == last) --now;
  }
  return most;
}

constexpr PassTimes kEqual{1, 1, 1}, kLongBackward{10, 20, 10}, kUnequal{10, 12, 9};

TEST(StageOrders, BubblesAreThoseOfTheClosedForms) {
  for (const PassTimes& t : {kEqual, kLongBackward, kUnequal}) {
    for (const int stages : {1, 2, 4, 8}) {
      for (const int batches : {stages, 2 * stages, 2 * stages + 1, 4 * stages}) {
        const auto zero_bubble = [&](int in_flight) {
          return bubble(zero_bubble_orders(stages, batches, even_times(stages, t), in_flight),
                        batches, t);
        };
        EXPECT_EQ(bubble(gpipe_orders(stages, batches), batches, t), (stages - 1) * all_of(t));
        EXPECT_EQ(bubble(one_f_one_b_orders(stages, batches), batches, t),
                  (stages - 1) * all_of(t));
        EXPECT_EQ(zero_bubble(stages), (stages - 1) * (t.forward + t.backward - t.weight_gradient))
            << stages << " stages, " << batches << " micro-batches";
        // The last stage begins when the first micro-batch comes.
        if (batches >= 2 * stages) {
          EXPECT_EQ(zero_bubble(2 * stages), (stages - 1) * t.forward);
        }
      }
    }
  }
}

TEST(StageOrders, ChunksDivideTheBubbleAndAddActivations) {
  for (const PassTimes& t : {kEqual, kLongBackward, kUnequal}) {  // of one chunk
    for (const int stages : {1, 2, 3, 4, 8}) {
      for (const int chunks : {1, 2, 3, 4}) {
        for (const int batches : {stages, 2 * stages, 5 * stages}) {
          const StageOrders orders = interleaved_orders(stages, chunks, batches);
          // (p-1) (F + B + W) / v with times of a stage, v times those of a chunk
          EXPECT_EQ(bubble(orders, batches * chunks, t), (stages - 1) * all_of(t))
              << stages << " stages, " << chunks << " chunks, " << batches << " micro-batches";
          // p (1 + (p-1) / (p v)) micro-batches of a stage, v times as many of a chunk
          EXPECT_EQ(most_in_flight(orders.front()),
                    std::min(stages * chunks + stages - 1, batches * chunks));
        }
      }
    }
  }
}

TEST(StageOrders, NoStageOfZeroBubbleIsIdleWithTwiceTheMemory) {
  for (const int stages : {2, 4, 8}) {
    for (const int batches : {2 * stages, 4 * stages}) {
      const auto idle = [&](const StageOrders& orders) {
        return longest_idle(orders, batches, kEqual);
      };
      const PipelineTimes times = even_times(stages, kEqual);
      EXPECT_EQ(idle(zero_bubble_orders(stages, batches, times, 2 * stages)), 0);
      EXPECT_EQ(idle(zero_bubble_orders(stages, batches, times, stages)), stages - 1);
      EXPECT_EQ(idle(one_f_one_b_orders(stages, batches)), 3 * (stages - 1));
    }
  }
}

TEST(StageOrders, KeepAsManyMicroBatchesInFlightAsTheySay) {
  constexpr int kStages = 4, kBatches = 12;
  const PipelineTimes times = even_times(kStages, kUnequal);
  EXPECT_EQ(most_in_flight(gpipe_orders(kStages, kBatches)[0]), kBatches);
  EXPECT_EQ(most_in_flight(one_f_one_b_orders(kStages, kBatches)[0]), kStages);
  for (const int limit : {1, 2, kStages, 2 * kStages}) {
    int most = 0;
    for (const auto& tasks : zero_bubble_orders(kStages, kBatches, times, limit)) {
      most = std::max(most, most_in_flight(tasks));
    }
    EXPECT_LE(most, limit);
    if (limit <= kStages) {
      EXPECT_EQ(most, limit);
    }
  }
}

TEST(StageOrders, HaveEveryPassOnceAndAddGradientsFromTheFirstMicroBatchToTheLast) {
  // Also of stages that differ, and take no time at all.
  PipelineTimes times{{{3, 4, 2}, {0, 0, 0}, {5, 9, 7}}, 2};
  for (const int batches : {1, 2, 3, 7}) {
    for (const int limit : {1, 3, 6}) {
      const StageOrders orders = zero_bubble_orders(3, batches, times, limit);
      EXPECT_EQ(in_time(orders, times).size(), static_cast<std::size_t>(9 * batches));
      for (const auto& tasks : orders) {
        for (const Pass pass : {Pass::forward, Pass::backward, Pass::weight_gradient}) {
          int next = 0;
          for (const StageTask& task : tasks) {
            if (task.pass != pass) continue;
            EXPECT_EQ(task.micro_batch, next++);
          }
          EXPECT_EQ(next, batches);
        }
      }
    }
  }
}

TEST(StageOrders, ZeroBubbleOfTwoStagesInTheMemoryOf1F1B) {
  const auto text = [](const std::vector<StageTask>& tasks) {
    std::string result;
    for (const StageTask& task : tasks) {
      result += "FBW"[static_cast<int>(task.pass)] + std::to_string(task.micro_batch + 1) + " ";
    }
    return result;
  };
  const StageOrders orders = zero_bubble_orders(2, 4, even_times(2, kEqual), 2);
  EXPECT_EQ(text(orders[0]), "F1 F2 B1 W1 B2 F3 W2 F4 B3 W3 B4 W4 ");
  EXPECT_EQ(text(orders[1]), "F1 B1 F2 B2 W1 W2 F3 B3 F4 B4 W3 W4 ");
}

/// Of a chunk; the last stage of a V has two in one.
PipelineTimes v_times(int stages, const PassTimes& t) {
  PipelineTimes times = even_times(stages, t);
  times.stages.back() = {2 * t.forward, 2 * t.backward, 2 * t.weight_gradient};
  times.path = ChunkPath::v;
  return times;
}

TEST(StageOrders, AVHasNoBubbleInTheMemoryOf1F1BAndLessThan1F1BInHalfOfIt) {
  for (const int stages : {2, 4, 8}) {
    for (const int batches : {2 * stages, 3 * stages}) {
      const PipelineTimes times = v_times(stages, kEqual);
      const auto bubble_of = [&](int in_flight) {
        std::int64_t end = 0;
        const StageOrders orders = zero_bubble_orders(stages, batches, times, in_flight);
        for (const TimedTask& one : in_time(orders, times)) end = std::max(end, one.end);
        int most = 0;  // in halves
        for (int stage = 0; stage + 1 < stages; ++stage) {
          most = std::max(most, most_in_flight(orders[static_cast<std::size_t>(stage)]));
        }
        EXPECT_LE(most, 2 * in_flight);
        return end - batches * 2 * all_of(kEqual);
      };
      // The last stage begins when the first micro-batch comes.  [ZBV]
      EXPECT_EQ(bubble_of(stages), (stages - 1) * kEqual.forward)
          << stages << " stages, " << batches << " micro-batches";
      EXPECT_LT(bubble_of(stages / 2 + 1), (stages - 1) * 2 * all_of(kEqual));  // 1F1B's
    }
  }
}

TEST(StageOrders, NoStageOfAVWaitsForEver) {
  for (const PassTimes& t : {kEqual, kLongBackward, PassTimes{0, 0, 0}, PassTimes{1, 0, 9}}) {
    for (const int stages : {2, 3, 5}) {
      for (const int batches : {1, 2, 7}) {
        for (const int in_flight : {1, 2, 4}) {
          const PipelineTimes times = v_times(stages, t);
          const StageOrders orders = zero_bubble_orders(stages, batches, times, in_flight);
          EXPECT_EQ(in_time(orders, times).size(),
                    static_cast<std::size_t>((2 * stages - 1) * 3 * batches));
          for (const auto& tasks : orders) {
            std::map<std::pair<Pass, int>, int> next;  // by chunk
            for (const StageTask& task : tasks) {
              EXPECT_EQ(task.micro_batch, (next[{task.pass, task.chunk}]++));
            }
          }
        }
      }
    }
  }
}

TEST(StageOrders, OrdersInWhichStagesWaitForEachOtherAreFound) {
  const StageOrders crossed{{{Pass::forward, 0}, {Pass::backward, 0}, {Pass::forward, 1}},
                            {{Pass::forward, 1}, {Pass::forward, 0}, {Pass::backward, 0}}};
  EXPECT_THROW(in_time(crossed, even_times(2, kEqual)), std::logic_error);
}

}  // namespace
}  // namespace moe::test::stage_orders_test
