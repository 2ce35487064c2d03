#include "moe/train/checkpoint/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/lost_output.h"
#include "moe/model/iteration.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/trainer.h"
#include "tests/db/temporary_directory.h"
#include "tests/moe/train/training_case.h"

namespace moe::train_checkpoint_checkpoints_test {
namespace {

using test::chunked;
using test::small_model;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A folder and a text that are gone at the end.
struct Place {
  std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / ("checkpoints" + std::to_string(getpid()));
  std::filesystem::path folder = root / "kept";
  Corpus corpus;

  explicit Place(const Model& model) {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    corpus = test::open_small_corpus(root / "text.bin", model);
  }
  ~Place() { std::filesystem::remove_all(root); }
};

struct Training {
  Model model;
  Layout layout{1, 1, 1};
  Schedule schedule{};
  int steps = 4;
  bool writes = false;
  bool resumes = false;
  int every = 0;
  int keep = 2;
  Replan replan{};
  int loses = 0;  ///< the iteration with which an output is lost; 0 for none
  std::function<void(int iteration)> completing = [](int) {};
};

struct Told {
  std::vector<double> losses;
  std::vector<int> iterations;
  std::vector<CheckpointReport> checkpoints;
};

Told train_at(const Place& place, const Training& training) {
  const Groups groups = make_groups(training.layout);
  TrainOptions options;
  options.steps = training.steps;
  options.evaluate_batches = 0;
  options.run.memory_limit_bytes = 1 << 28;
  options.replan = training.replan;
  if (training.writes) {
    options.checkpoint.emplace();
    options.checkpoint->directory = place.folder;
    options.checkpoint->every = training.every;
    options.checkpoint->keep = training.keep;
    options.checkpoint->about.model = training.model;
    options.checkpoint->about.layout = to_text(training.layout);
    options.checkpoint->about.corpus_fingerprint = place.corpus.fingerprint;
  }
  if (training.resumes) {
    options.resume = find_resume_point(place.folder);
    compare_models(options.resume.value(), training.model, false);
  }
  Told told;
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    TrainObserver observer;
    observer.step = [&](const StepReport& step) {
      told.losses.push_back(step.loss);
      told.iterations.push_back(step.iteration);
    };
    observer.checkpoint.completed = [&](const CheckpointReport& one) {
      told.checkpoints.push_back(one);
    };
    observer.checkpoint.begun = [&](CheckpointIndex& index) {
      index.run = {1234.5678901234567, index.iteration, "node0"};
      index.log = {index.iteration * 10, 0xfedcba9876543210};
    };
    observer.checkpoint.completing = [&] { training.completing(told.iterations.back()); };
    observer.lost_output = [&]() -> std::string {
      const bool is_lost = training.loses > 0 && !told.iterations.empty() &&
                           told.iterations.back() >= training.loses;
      return is_lost ? "a.db: the disk is full" : "";
    };
    train(training.model, build_iteration(training.model, groups, world.rank), training.schedule,
          place.corpus, groups, *backend, world,
          std::vector<RankInfo>(static_cast<std::size_t>(groups.ranks)), options, observer);
  });
  return told;
}

/// Every expert at home on the rank after its own.
Schedule one_further(int members) {
  ExpertHomes homes = homes_in_order(28, members);
  for (int& home : homes) home = (home + 1) % members;
  return {"one further", {PlaceExperts{1, homes}}};
}

std::vector<double> last_two(const std::vector<double>& losses) {
  return {losses.end() - 2, losses.end()};
}

/// Two iterations, then two more from their checkpoint.
std::vector<double> resumed(const Model& model, const Training& first, const Training& second) {
  const Place place(model);
  Training writing = first;
  writing.model = model;
  writing.steps = 2;
  writing.writes = true;
  train_at(place, writing);
  Training going_on = second;
  going_on.model = model;
  going_on.resumes = true;
  const Told told = train_at(place, going_on);
  EXPECT_THAT(told.iterations, ElementsAre(3, 4));
  return told.losses;
}

std::vector<Model> models() {
  std::vector<Model> models;
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd}) {
    Model& model = models.emplace_back(small_model(DType::f64));
    model.optimizer = optimizer;
    model.learning_rate = 0.02;
    model.warmup_steps = 3;
  }
  models.back().gate = "bias_adjusted";
  models.back().own["bias_speed"] = 0.125;
  models[1].clip_norm = 0.5;
  models[1].outlier_z_score = 0.5;  // the last steps are, by what the checkpoint remembers
  models[1].outlier_window = 2;
  models[1].gate = "gshard";  // it draws
  return models;
}

TEST(Checkpoints, OnTheSameLayoutGoOnBitForBit) {
  std::vector<Model> all = models();
  all.push_back(small_model(DType::bf16));
  for (const Model& model : all) {
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 1}, Layout{1, 2, 2, 2}}) {
      const Place place(model);
      const Training whole{model, layout};
      const std::vector<double> expected = last_two(train_at(place, whole).losses);
      EXPECT_EQ(resumed(model, whole, whole), expected) << model.gate << " " << to_text(layout);
    }
  }
}

TEST(Checkpoints, OnOtherRanksLayoutsAndSchedulesGoOnWithTheSameLosses) {
  std::vector<Model> all = models();
  all.front().head = Head::tied;  // of which two stages have a table each
  for (Model model : all) {
    model.blocks = 4;
    model.moe_every = 1;
    const Place place(model);
    const std::vector<double> expected = last_two(train_at(place, {model}).losses);
    const Training one{model}, spread{model, {1, 4, 1}}, shared{model, {1, 2, 2, 2}},
        copied{model, {2, 2, 1, 2}}, staged{model, {1, 2, 1, 1, 2}},
        in_turn{model, {1, 2, 1, 1, 2}, {"stages in turn", {PlaceBlocks{{0, 1, 0, 1}}}}},
        chunks{model, {1, 2, 1}, chunked(model, 3, 2)};
    const auto expect_near = [&](const Training& first, const Training& second) {
      const std::vector<double> losses = resumed(model, first, second);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(losses.at(i), expected[i], 1e-9)
            << model.gate << ": " << to_text(first.layout) << " to " << to_text(second.layout);
      }
    };
    for (const Training& other : {spread, shared, copied, staged, in_turn, chunks}) {
      expect_near(one, other);
      expect_near(other, one);
    }
    expect_near(staged, shared);
    expect_near(staged, in_turn);
    expect_near(in_turn, copied);
  }
}

TEST(Checkpoints, OfExpertsThatRanksHaveUnevenlyGoOnOnOtherRanks) {
  const Schedule sharding{"sharded", {ShardOptimizer{}}};
  Model model = small_model(DType::f64);
  model.experts = 6;
  model.global_batch = model.capacity_groups = 24;
  model.learning_rate = 0.02;
  model.clip_norm = 0.5;
  const Place place(model);
  const std::vector<double> expected = last_two(train_at(place, {model}).losses);
  const Training one{model}, four{model, {1, 4, 1}}, three{model, {1, 3, 1}},
      copied{model, {2, 4, 1}, sharding}, shared{model, {1, 4, 2, 2}};
  const std::vector<std::pair<Training, Training>> moves{
      {four, one}, {one, four}, {four, three}, {three, four}, {copied, shared}, {shared, copied}};
  for (const auto& [first, second] : moves) {
    const std::vector<double> losses = resumed(model, first, second);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(losses.at(i), expected[i], 1e-9)
          << to_text(first.layout) << " to " << to_text(second.layout);
    }
  }
  EXPECT_EQ(resumed(model, four, four), last_two(train_at(place, four).losses));
}

TEST(Checkpoints, OfAShardedOptimizerGoOnWithoutItAndTheOtherWay) {
  const Schedule sharding{"sharded", {ShardOptimizer{}}};
  for (const DType dtype : {DType::f64, DType::bf16}) {
    Model model = small_model(dtype);
    model.learning_rate = 0.02;
    for (const Layout& layout : {Layout{2, 2, 1}, Layout{2, 1, 2, 2}}) {
      const Place place(model);
      const Training plain{model, layout}, sharded{model, layout, sharding};
      const std::vector<double> expected = last_two(train_at(place, plain).losses);
      EXPECT_EQ(resumed(model, plain, sharded), expected) << to_text(layout);
      EXPECT_EQ(resumed(model, sharded, plain), expected) << to_text(layout);
    }
  }
}

TEST(Checkpoints, OfAShardedOptimizerGoOnOnOtherRanks) {
  const Schedule sharding{"sharded", {ShardOptimizer{}}};
  Model model = small_model(DType::f64);
  model.learning_rate = 0.02;
  model.clip_norm = 0.5;
  const Place place(model);
  const std::vector<double> expected = last_two(train_at(place, {model}).losses);
  const Training sharded{model, {2, 2, 1}, sharding};
  for (const Training& other :
       {Training{model}, Training{model, {1, 7, 1}, sharding}, Training{model, {2, 1, 1}, sharding},
        Training{model, {1, 2, 2, 2}, sharding}}) {
    const std::vector<double> from = resumed(model, sharded, other);
    const std::vector<double> to = resumed(model, other, sharded);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(from.at(i), expected[i], 1e-9) << "to " << to_text(other.layout);
      EXPECT_NEAR(to.at(i), expected[i], 1e-9) << "from " << to_text(other.layout);
    }
  }
}

TEST(Checkpoints, OfExpertsThatHaveMovedAreReadAtAnyHomes) {
  Model model = small_model(DType::f64);
  model.learning_rate = 0.02;
  const Place place(model);
  const std::vector<double> expected = last_two(train_at(place, {model, {1, 4, 1}}).losses);
  Training moved{model, {1, 4, 1}};
  moved.replan = [](const SeenIteration& seen) -> std::optional<Schedule> {
    if (seen.iteration == 1) return one_further(4);
    return std::nullopt;
  };
  const std::vector<double> in_order = resumed(model, moved, {model, {1, 4, 1}});
  const std::vector<double> further =
      resumed(model, {model, {1, 4, 1}}, {model, {1, 4, 1}, one_further(4)});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(in_order.at(i), expected[i], 1e-9);
    EXPECT_NEAR(further.at(i), expected[i], 1e-9);
  }
}

TEST(Checkpoints, AreWrittenWhenDueAndTheLastOnesKept) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  const Told told = train_at(
      place, {.model = model, .layout = {1, 2, 1}, .steps = 7, .writes = true, .every = 2});
  std::vector<int> written;
  for (const CheckpointReport& one : told.checkpoints) {
    written.push_back(one.iteration);
    EXPECT_GT(one.bytes, 0);
    EXPECT_GE(one.written_s, one.stopped_s);
  }
  EXPECT_THAT(written, ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(checkpoints_in(place.folder), ElementsAre(6, 7));
}

TEST(Checkpoints, ThatAreNotCompleteAreNotReadAndAreRemoved) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  std::filesystem::create_directories(partial_folder(place.folder, 9));
  EXPECT_FALSE(find_resume_point(place.folder));
  train_at(place, {.model = model, .steps = 1, .writes = true});
  EXPECT_FALSE(std::filesystem::exists(partial_folder(place.folder, 9)));
  EXPECT_THAT(checkpoints_in(place.folder), ElementsAre(1));
}

/// Why a training cannot go on from what is in the place.
std::string refusal(const Place& place, const Model& model, const Layout& layout) {
  try {
    train_at(place, {.model = model, .layout = layout, .resumes = true});
  } catch (const InputError& error) {
    return error.what();
  } catch (const CheckpointError& error) {
    EXPECT_EQ(exit_code(error), 2);
    return error.what();
  }
  return "";
}

TEST(Checkpoints, WithAMissingOrChangedFileAreRefusedWithFileTensorAndWayOut) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  train_at(place, {.model = model, .layout = {1, 2, 1}, .steps = 2, .writes = true, .every = 1});
  const auto folder = checkpoint_folder(place.folder, 2);
  const auto shard = folder / shard_file(1);
  const auto way_out = HasSubstr("to go on from iteration 1, move " + folder.string() + " away");
  const std::string text = read_file(shard), index = read_file(folder / kIndexFile);
  const auto overwrite = [](const std::filesystem::path& file, const std::string& with) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << with;
  };
  std::string changed = text;
  changed.back() = static_cast<char>(changed.back() ^ 4);
  overwrite(shard, changed);
  EXPECT_THAT(refusal(place, model, {1, 1, 1}),
              AllOf(HasSubstr(shard.string() + ": tensor "),
                    HasSubstr("its bytes are not those that were written"), way_out));
  overwrite(shard, text.substr(0, text.size() / 2));
  EXPECT_THAT(refusal(place, model, {1, 2, 1}), AllOf(HasSubstr(shard.string()), way_out));
  std::filesystem::remove(shard);
  EXPECT_THAT(refusal(place, model, {1, 1, 1}),
              AllOf(HasSubstr(shard.string()), HasSubstr("No such file"), way_out));
  overwrite(shard, text);
  EXPECT_EQ(refusal(place, model, {1, 1, 1}), "");
  for (std::size_t byte = 0; byte < index.size(); byte += 89) {
    std::string flipped = index;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1);
    overwrite(folder / kIndexFile, flipped);
    EXPECT_THAT(refusal(place, model, {1, 1, 1}),
                AllOf(HasSubstr((folder / kIndexFile).string()), way_out))
        << "byte " << byte;
  }
}

TEST(Checkpoints, ThatATrainingReplacesBeforeTheyAreReadAreLookedForAgainToEvaluate) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  train_at(place, {.model = model, .steps = 2, .writes = true});
  TrainOptions options;
  options.run.memory_limit_bytes = 1 << 28;
  options.evaluate_batches = 1;
  options.resume = find_resume_point(place.folder);
  train_at(place, {.model = model, .steps = 3, .writes = true, .resumes = true, .keep = 1});
  ASSERT_THAT(checkpoints_in(place.folder), ElementsAre(3));
  int evaluated = 0;
  const auto run = [&] {
    const Groups groups = make_groups(2, 2);
    run_local_ranks(2, [&](Communicator& world) {
      const std::unique_ptr<Backend> backend = make_cpu_backend(1);
      TrainObserver observer;
      observer.evaluated = [&](int iteration, double) { evaluated = iteration; };
      train(model, build_iteration(model, groups, world.rank), {}, place.corpus, groups, *backend,
            world, std::vector<RankInfo>(2), options, observer);
    });
  };
  EXPECT_THROW(run(), CheckpointError) << "a training may not go on from another one";
  options.only_evaluates = true;
  run();
  EXPECT_EQ(evaluated, 3);
}

TEST(Checkpoints, AreThoseWhoseFoldersHaveTheNameThatATrainingGives) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  train_at(place, {.model = model, .steps = 2, .writes = true, .every = 1});
  for (const char* other : {"iteration--5", "iteration-9", "iteration-000000009"}) {
    std::filesystem::create_directory(place.folder / other);
  }
  EXPECT_THAT(checkpoints_in(place.folder), ElementsAre(1, 2));
  std::filesystem::rename(checkpoint_folder(place.folder, 2), checkpoint_folder(place.folder, 7));
  EXPECT_THAT(refusal(place, model, {1, 1, 1}),
              AllOf(HasSubstr("is of iteration 2: expected 7, as its folder is named"),
                    HasSubstr("to go on from iteration 1, move ")));
}

TEST(Checkpoints, WhoseFolderCannotBeMadeAreWrongUse) {
  const Model model = small_model(DType::f32);
  Place place(model);
  place.folder = place.root / "text.bin" / "kept";
  try {
    train_at(place, {.model = model, .layout = {1, 2, 1}, .steps = 1, .writes = true});
    FAIL() << "a folder was made in a file";
  } catch (const CheckpointError& error) {
    EXPECT_EQ(exit_code(error), 2);
    EXPECT_EQ(error.what(), place.folder.string() + ": cannot be written: Not a directory");
  }
}

TEST(Checkpoints, OfAnotherModelAreRefusedAndOtherKeysOfTrainingAreTold) {
  Model model = small_model(DType::f32);
  const Place place(model);
  train_at(place, {.model = model, .steps = 1, .writes = true});
  Model other = model;
  other.heads = 4;
  EXPECT_THAT(refusal(place, other, {1, 1, 1}),
              HasSubstr("another model: heads = 2 there, 4 here"));
  other = model;
  other.optimizer = Optimizer::sgd;
  EXPECT_THAT(refusal(place, other, {1, 1, 1}),
              AllOf(HasSubstr("tensor token_table.momentum: is missing")));
  other = model;
  other.learning_rate = 0.5;
  auto point = find_resume_point(place.folder).value();
  compare_models(point, other, false);
  EXPECT_THAT(point.remarks,
              ElementsAre("learning_rate was 0.001 up to iteration 1, and is 0.5 from there on"));
}

TEST(Checkpoints, AreWrittenWhereAnOutputIsLost) {
  const Model model = small_model(DType::f32);
  for (const int ranks : {1, 2}) {
    const Place place(model);
    EXPECT_THAT(
        [&] {
          train_at(
              place,
              {.model = model, .layout = {1, ranks, 1}, .steps = 9, .writes = true, .loses = 3});
        },
        ::testing::ThrowsMessage<LostOutput>(HasSubstr("stopped after iteration 4: ")));
    EXPECT_THAT(checkpoints_in(place.folder), ElementsAre(4));
  }
}

TEST(Checkpoints, AreCompleteOnlyAfterWhatIsToldOfTheirIterationsIsStored) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  std::vector<std::size_t> complete;
  train_at(place, {.model = model, .steps = 2, .writes = true, .completing = [&](int iteration) {
                     EXPECT_EQ(iteration, 2);
                     complete.push_back(checkpoints_in(place.folder).size());
                   }});
  EXPECT_THAT(complete, ElementsAre(0u));
}

TEST(Checkpoints, RememberTheirRunAndTheirLog) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  train_at(place, {.model = model, .steps = 2, .writes = true});
  const auto point = find_resume_point(place.folder);
  EXPECT_EQ(point.value().index.run, (db::RunIdentity{1234.5678901234567, 2, "node0"}));
  EXPECT_EQ(point->index.log, (LogPlace{20, 0xfedcba9876543210}));
}

TEST(Checkpoints, AFolderThatCannotBeWrittenIsFoundBeforeTheFirstIteration) {
  const db::SmallDisk disk(64);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const Model model = small_model(DType::f32);
  Place place(model);
  place.folder = std::filesystem::path(disk.file("x")).parent_path();
  ASSERT_TRUE(disk.make_read_only());
  int iterations = 0;
  const auto count = [&](const SeenIteration&) -> std::optional<Schedule> {
    ++iterations;
    return std::nullopt;
  };
  try {
    train_at(place, {.model = model, .layout = {1, 2, 1}, .writes = true, .replan = count});
    FAIL() << "a read-only folder was taken";
  } catch (const CheckpointError& error) {
    EXPECT_EQ(exit_code(error), 2);
    EXPECT_EQ(error.what(), place.folder.string() + ": cannot be written: Read-only file system");
  }
  EXPECT_EQ(iterations, 0);
}

/// Files that this process writes grow to so many bytes at most.
struct FileLimit {
  struct rlimit before {};
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit limit { bytes, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
};

TEST(Checkpoints, ThatCannotBeWrittenEndAllRanksAndLeaveTheLastOne) {
  const Model model = small_model(DType::f32);
  const Place place(model);
  Training training{.model = model, .layout = {1, 2, 1}, .steps = 2, .writes = true};
  train_at(place, training);
  training.steps = 3;
  training.resumes = true;
  const auto shard = checkpoint_folder(place.folder, 2) / shard_file(0);
  std::string why;
  try {
    const FileLimit full(3 * std::filesystem::file_size(shard) / 4);  // the header fits
    train_at(place, training);
  } catch (const CheckpointError& error) {
    EXPECT_EQ(exit_code(error), 1);
    why = error.what();
  }
  EXPECT_THAT(why, AllOf(HasSubstr("the checkpoint of iteration 3 is not written: "),
                         HasSubstr(": tensor "), HasSubstr("File too large"),
                         HasSubstr("the one of iteration 2 is complete")));
  EXPECT_FALSE(std::filesystem::exists(partial_folder(place.folder, 3)));
  EXPECT_THAT(checkpoints_in(place.folder), ElementsAre(2));
  EXPECT_EQ(refusal(place, model, training.layout), "");
}

}  // namespace
}  // namespace moe::train_checkpoint_checkpoints_test
