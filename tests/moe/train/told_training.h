#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/stop.h"
#include "moe/train/trainer.h"
#include "tests/moe/train/training_case.h"

/// Trainings by train() on threads as ranks, as rank 0 tells of them.
namespace moe::test {

/// A text of few letters, a tenth of it held out.
struct Text {
  std::filesystem::path file = std::filesystem::path(::testing::TempDir()) /
                               ("told_training" + std::to_string(getpid()) + ".bin");
  Corpus corpus;
  explicit Text(const Model& model) : corpus(open_small_corpus(file, model)) {}
  ~Text() { std::filesystem::remove(file); }
};

/// A training as rank 0 tells of it.
struct Told {
  std::vector<StepReport> steps;
  std::vector<std::pair<int, Schedule>> schedules;   ///< from which iteration on
  std::vector<std::pair<int, ExpertTraffic>> moved;  ///< before which iteration
  std::vector<std::string> failures;                 ///< what each rank threw
  std::optional<BalancedTurns> balanced;

  std::vector<double> losses() const {
    std::vector<double> all;
    for (const StepReport& step : steps) all.push_back(step.loss);
    return all;
  }
};

inline Told trained(const Model& model, const Groups& groups, TrainOptions options,
                    const Schedule& schedule = {},
                    const std::vector<double>& clock_offsets_s = {}) {
  const Text text(model);
  const int ranks = groups.ranks;
  options.run.memory_limit_bytes = 1 << 28;
  std::vector<RankInfo> infos(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < clock_offsets_s.size(); ++r) {
    infos[r].clock.offset_s = clock_offsets_s[r];
  }
  Told told;
  told.failures.resize(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    TrainObserver observer;
    observer.step = [&](const StepReport& step) {
      EXPECT_EQ(world.rank, 0);
      told.steps.push_back(step);
    };
    observer.schedule = [&](int iteration, const Schedule& used, const Program&) {
      told.schedules.emplace_back(iteration, used);
    };
    observer.moved = [&](int iteration, const ExpertTraffic& traffic, double duration_s) {
      EXPECT_GT(duration_s, 0);
      told.moved.emplace_back(iteration, traffic);
    };
    observer.balanced = [&](const BalancedTurns& turns) { told.balanced = turns; };
    try {
      train(model, build_iteration(model, groups, world.rank), schedule, text.corpus, groups,
            *backend, world, infos, options, observer);
    } catch (const NotFinite& error) {
      told.failures[static_cast<std::size_t>(world.rank)] = error.what();
    } catch (const Stopped& error) {
      told.failures[static_cast<std::size_t>(world.rank)] = error.what();
    }
  });
  return told;
}

inline Told trained(const Model& model, int ranks, TrainOptions options,
                    const Schedule& schedule = {},
                    const std::vector<double>& clock_offsets_s = {}) {
  return trained(model, make_groups(ranks, ranks), std::move(options), schedule, clock_offsets_s);
}

inline TrainOptions steps(int count) {
  TrainOptions options;
  options.steps = count;
  options.evaluate_batches = 0;
  return options;
}

}  // namespace moe::test
