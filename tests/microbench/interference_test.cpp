#include "microbench/interference.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "microbench/background.h"

namespace microbench::interference_test {
namespace {

const Sampling quick{.shortest_sample_s = 0, .fewest_samples = 3, .budget_s = 0.001};
const ActivitySizes small{.bytes = 100'000, .linear = {.rows = 16, .inputs = 24, .outputs = 40}};

std::vector<std::string> plan_names(int ranks, const std::vector<int>& node,
                                    const std::vector<std::string>& names = {},
                                    const std::string& device = "cpu") {
  std::vector<std::string> result;
  moe::run_local_ranks(ranks, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, device, quick};
    const auto plans = interference_plans(bench, names, small, node);
    if (world.rank != 0) return;
    for (const Plan& plan : plans) result.push_back(plan.name);
  });
  return result;
}

TEST(Interference, EveryActivityRunsBesideEveryOtherAndBesideAll) {
  EXPECT_THAT(plan_names(2, {0, 0}, {"computation", "intra_node", "copy"}),
              testing::ElementsAre(
                  "interference/computation/intra_node", "interference/computation/copy",
                  "interference/computation/intra_node+copy", "interference/intra_node/computation",
                  "interference/intra_node/copy", "interference/intra_node/computation+copy",
                  "interference/copy/computation", "interference/copy/intra_node",
                  "interference/copy/computation+intra_node"));
}

TEST(Interference, MemoryBoundComputationIsNoneOfAll) {
  EXPECT_THAT(plan_names(1, {0}),
              testing::ElementsAre(
                  "interference/computation/memory_bound", "interference/computation/copy",
                  "interference/memory_bound/computation", "interference/memory_bound/copy",
                  "interference/copy/computation", "interference/copy/memory_bound"));
}

TEST(Interference, OfComputationsIsNotMeasuredOnADeviceWhichComputesOneAfterTheOther) {
  EXPECT_THAT(
      plan_names(1, {0}, {}, "cuda"),
      testing::ElementsAre("interference/computation/copy", "interference/memory_bound/copy",
                           "interference/copy/computation", "interference/copy/memory_bound"));
}

TEST(Interference, CommunicationBetweenAndInsideNodesNeedsRanksThatAreThere) {
  const auto has = [](const std::vector<std::string>& names, const std::string& activity) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      return name.starts_with("interference/" + activity + "/");
    });
  };
  EXPECT_TRUE(has(plan_names(2, {0, 1}), "inter_node"));
  EXPECT_FALSE(has(plan_names(2, {0, 1}), "intra_node"));
  EXPECT_TRUE(has(plan_names(4, {0, 0, 1, 1}), "inter_node"));
  EXPECT_TRUE(has(plan_names(4, {0, 0, 1, 1}), "intra_node"));
  EXPECT_FALSE(has(plan_names(3, {0, 0, 1}), "inter_node")) << "who would rank 1 talk to";
}

TEST(Interference, OfEveryPairIsVerifiedAndOverlaps) {
  moe::run_local_ranks(4, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
    std::set<std::pair<std::string, std::string>> seen;
    for (const Plan& plan : interference_plans(bench, {}, small, {0, 1, 0, 1})) {
      // Other tests on the same cores may keep what runs beside from its share once, and all ranks
      // learn of it alike.
      const auto measured = [&](int attempts) {
        for (;; --attempts) {
          try {
            return measure(bench, plan.make(), 0.005);
          } catch (const std::runtime_error&) {
            if (attempts == 1) throw;
          }
        }
      };
      const Result result = measured(3);
      const db::Measurement& m = result.measurement;
      EXPECT_EQ(m.op, "interference");
      EXPECT_EQ(m.wrong, 0) << plan.name;
      const auto parameters = nlohmann::json::parse(m.parameters_json);
      seen.emplace(parameters.at("activity"), parameters.at("beside"));
      EXPECT_GE(parameters.at("overlap").get<double>(), kLeastOverlap) << plan.name;
      EXPECT_GT(parameters.at("alone_s").get<double>(), 0);
      EXPECT_GT(m.time_s, 0);
      EXPECT_EQ(m.relative_deviation.value(), result.cv) << plan.name << ", of the rounds";
      for (const char* of : {"use", "use_beside"}) {
        const auto& use = parameters.at(of);
        EXPECT_GT(use.at("processors").get<double>(), 0) << plan.name << " " << of;
        EXPECT_GE(use.at("wakes_per_s").get<double>(), 0) << plan.name << " " << of;
        EXPECT_GE(use.at("preempted_per_s").get<double>(), 0) << plan.name << " " << of;
      }
    }
    EXPECT_EQ(seen.size(), 5u * 4 + 5);
  });
}

TEST(Interference, ShortCallsAreRepeatedForFiveMillisecondsAloneAndBeside) {
  const auto world = moe::make_solo_communicator();
  const auto backend = moe::make_cpu_backend(1);
  const Bench bench{*world, *world, *backend, moe::DType::f32, "cpu", quick};
  const auto plans = interference_plans(bench, {"memory_bound", "copy"}, small, {0});
  const Case subject = plans.front().make();
  subject.prepare();
  const auto begin = std::chrono::steady_clock::now();
  const double call_s = subject.timed(1);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(call_s, 0.002) << "of one addition of 100 kB";
  EXPECT_GT(lasted.count(), 0.006) << "0.01, less what a faster clock gains meanwhile";
}

/// Spoils the data that arrive.
class Spoiling : public moe::Communicator {
 public:
  explicit Spoiling(std::unique_ptr<moe::Communicator> good)
      : Communicator(good->rank, good->size), good_(std::move(good)) {}
  void run(const moe::collective::Call& what, const moe::CallContext& call) override {
    good_->run(what, call);
    const auto* exchange = std::get_if<moe::collective::AllToAllV>(&what);
    if (exchange != nullptr && rank == 0) exchange->to[3] ^= std::byte{0x40};
  }
  std::unique_ptr<moe::Communicator> split(std::span<const int> ranks) override {
    return std::make_unique<Spoiling>(good_->split(ranks));
  }

 private:
  std::unique_ptr<moe::Communicator> good_;
};

TEST(Interference, AWrongValueOfEitherIsNoticed) {
  for (const std::string y : {"intra_node", "copy"}) {
    moe::run_local_ranks(2, [&](moe::Communicator& world) {
      const auto backend = moe::make_cpu_backend(1);
      const std::vector<int> all{0, 1};
      Spoiling spoiling(world.split(all));
      const Bench bench{world, spoiling, *backend, moe::DType::f32, "cpu", quick};
      for (const Plan& plan : interference_plans(bench, {"intra_node", "copy"}, small, {0, 0})) {
        if (!plan.name.starts_with("interference/" + y)) continue;
        EXPECT_EQ(measure(bench, plan.make(), 0.005).measurement.wrong, 1) << plan.name;
      }
    });
  }
}

/// An activity whose calls take a millisecond.
struct Sleeping {
  std::atomic<int> calls = 0;
  Activity activity;
  std::unique_ptr<moe::Communicator> world = moe::make_solo_communicator();
  std::unique_ptr<moe::Backend> backend = moe::make_cpu_backend(1);

  Sleeping() {
    activity.call_s = 0.001;
    activity.bench =
        std::make_unique<Bench>(Bench{*world, *world, *backend, moe::DType::f32, "cpu", quick});
    activity.subject.call = [this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++calls;
    };
  }
};

TEST(Background, RunsUntilItIsStopped) {
  Sleeping sleeping;
  Background background(sleeping.activity, 0);
  while (sleeping.calls < 5) std::this_thread::yield();
  const auto ran = background.stop();
  const int calls = sleeping.calls;
  EXPECT_GE(calls, 5);
  EXPECT_GE(db::total_length_s(ran), 1e-3 * calls) << "every call slept a millisecond";
}

TEST(Background, RanksOfACollectiveMakeEquallyManyCalls) {
  std::array<int, 3> calls{};
  moe::run_local_ranks(3, [&](moe::Communicator& world) {
    Sleeping sleeping;
    const std::vector<int> all{0, 1, 2};
    sleeping.activity.collective = true;
    sleeping.activity.world = world.split(all);
    sleeping.activity.call_s = 0.005;
    {
      Background background(sleeping.activity, 0);
      while (sleeping.calls < 3 * world.rank) std::this_thread::yield();
      if (world.rank > 0) background.stop();  // rank 0 drops it at once
    }
    calls[static_cast<std::size_t>(world.rank)] = sleeping.calls;
  });
  EXPECT_GE(calls[0], 6);
  EXPECT_THAT(calls, testing::Each(calls[0]));
}

TEST(Background, EnqueuesCollectivesBeforeItsCallerGoesOn) {
  Sleeping sleeping;
  sleeping.activity.collective = true;
  sleeping.activity.bench->enqueues = true;
  sleeping.activity.call_s = 0.001;
  Background background(sleeping.activity, 0.0035);
  EXPECT_EQ(sleeping.calls, 4);
  EXPECT_FALSE(background.stop().empty());
  EXPECT_EQ(sleeping.calls, 4);
}

TEST(Background, SaysWhatFailed) {
  Sleeping sleeping;
  sleeping.activity.subject.call = [] { throw std::runtime_error("no copy"); };
  Background background(sleeping.activity, 0);
  EXPECT_THROW(background.stop(), std::runtime_error);
}

}  // namespace
}  // namespace microbench::interference_test
