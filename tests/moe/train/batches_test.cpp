#include "moe/train/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace moe::batches_test {
namespace {

using testing::ElementsAre;

class BatchesTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Tokens that count on from `first`, so that a token says its place.
  std::filesystem::path write(const std::string& name, std::size_t tokens, int first = 0) {
    std::vector<std::uint16_t> values(tokens);
    for (std::size_t i = 0; i < tokens; ++i) {
      values[i] = static_cast<std::uint16_t>(static_cast<std::size_t>(first) + i);
    }
    const auto path = directory_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(2 * tokens));
    return path;
  }
  static Corpus open(std::vector<std::filesystem::path> files, std::vector<double> weights = {}) {
    return open_corpus(
        std::move(files),
        {.vocabulary = 65536, .sequence_length = kLength, .weights = std::move(weights)});
  }

  static constexpr std::int64_t kLength = 10, kBatch = 6;
  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-batches-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

/// 1000 tokens, of which the first 900 make 89 sequences with their targets.
TEST_F(BatchesTest, AnEpochHasEverySequenceOnceInAnotherOrder) {
  const Corpus corpus = open({write("a.bin", 1000)});
  Batches batches(corpus, 1, 1, {.order = DataOrder::shuffled});
  std::vector<std::vector<std::int32_t>> epochs(2);
  for (int step = 1; step <= 178; ++step) {
    const std::vector<EpochEnd> ends = batches.begin(step);
    ASSERT_EQ(ends.size(), step % 89 == 0 ? 1u : 0u) << step;
    if (!ends.empty()) {
      EXPECT_EQ(ends[0].epoch, step / 89);
      EXPECT_EQ(ends[0].sequences, 89);
    }
    const Batch batch = batches.read({0, 1});
    EXPECT_EQ(batch.targets.back(), batch.tokens.front() + kLength);
    epochs[static_cast<std::size_t>(step > 89)].push_back(batch.tokens.front());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    std::ranges::sort(epoch);
    for (std::size_t i = 0; i < epoch.size(); ++i) {
      ASSERT_EQ(epoch[i], static_cast<std::int32_t>(i) * kLength);
    }
  }
}

TEST_F(BatchesTest, InOrderFollowOneAnotherInEveryEpochAndAfterAStop) {
  Corpus corpus = open({write("a.bin", 1000)});
  const DataOptions in_order{.order = DataOrder::in_order};
  Batches batches(corpus, 1, 1, in_order);
  std::vector<SourceCursor> before;
  for (int step = 1; step <= 178; ++step) {
    EXPECT_EQ(batches.begin(step).size(), step % 89 == 0 ? 1u : 0u) << step;
    ASSERT_EQ(batches.read({0, 1}).tokens.front(), (step - 1) % 89 * kLength) << step;
    if (step == 100) before = batches.cursors();
  }
  EXPECT_TRUE(before.at(0).in_order);
  DataOptions goes_on = in_order;
  goes_on.cursors = continued(corpus, before).cursors;
  Batches rest(corpus, 1, 1, goes_on);
  rest.begin(101);
  EXPECT_EQ(rest.read({0, 1}).tokens.front(), 100 % 89 * kLength);
  EXPECT_TRUE(rest.cursors().at(0).in_order);
}

/// Whichever samples a rank reads, from whichever iteration on.
TEST_F(BatchesTest, AreTheSameForEveryRankAndAfterAStop) {
  Corpus corpus = open({write("a.bin", 2000), write("b.bin", 800, 30000)}, {3, 1});
  const DataOptions shuffled{.order = DataOrder::shuffled};
  Batches whole(corpus, 5, kBatch, shuffled), shared(corpus, 5, kBatch, shuffled);
  std::optional<Batches> resumed;
  std::vector<SourceCursor> before;
  for (int step = 1; step <= 100; ++step) {
    whole.begin(step);
    shared.begin(step);
    if (step == 41) {
      resumed.emplace(
          corpus, 5, kBatch,
          DataOptions{.order = DataOrder::shuffled, .cursors = continued(corpus, before).cursors});
    }
    const Batch all = whole.read({0, kBatch});
    for (std::int64_t first = 0; first < kBatch; first += 2) {
      const Batch part = shared.read({first, 2});
      EXPECT_TRUE(
          std::equal(part.tokens.begin(), part.tokens.end(), all.tokens.begin() + first * kLength));
    }
    if (resumed) {
      resumed->begin(step);
      ASSERT_EQ(resumed->read({0, kBatch}).targets, all.targets) << step;
    }
    before = whole.cursors();
  }
}

/// How many sequences of each file, by its letter and number, have been drawn.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> drawn_of(
    const std::vector<SourceCursor>& cursors) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> drawn;
  for (const SourceCursor& one : cursors) {
    drawn[std::filesystem::path(one.name).stem()] = {one.drawn, one.number};
  }
  return drawn;
}

TEST_F(BatchesTest, DrawFilesByWeightAndEachInEpochsOfItsOwn) {
  const Corpus corpus = open({write("a.bin", 2000), write("b.bin", 800, 30000)}, {3, 1});
  Batches batches(corpus, 5, kBatch, {.order = DataOrder::shuffled});
  std::map<std::string, std::int64_t> epochs;
  std::map<std::int32_t, int> seen;
  for (int step = 1; step <= 200; ++step) {
    for (const EpochEnd& end : batches.begin(step)) epochs[end.source] = end.epoch;
    const Batch batch = batches.read({0, kBatch});
    for (std::size_t i = 0; i < batch.tokens.size(); i += kLength) ++seen[batch.tokens[i]];
  }
  const auto drawn = drawn_of(batches.cursors());
  const std::int64_t a = drawn.at("a").first, b = drawn.at("b").first;
  EXPECT_EQ(a + b, 200 * kBatch);
  EXPECT_NEAR(static_cast<double>(b), 300, 60);  // 4 standard deviations
  for (const Source& source : corpus.sources) {
    EXPECT_EQ(epochs[source.name], source.tokens == 2000 ? a / 179 : b / 71);
  }
  for (const auto& [token, times] : seen) {
    const std::int64_t least = token < 30000 ? a / 179 : b / 71;
    ASSERT_GE(times, least) << token;
    ASSERT_LE(times, least + 1) << token;
  }
}

TEST_F(BatchesTest, GoOnWithATextWhereverItStandsAndWhateverItIsCalled) {
  const auto a = write("a.bin", 1000), b = write("b.bin", 1000, 2000),
             c = write("c.bin", 1000, 4000), old_b = write("old b.bin", 1000, 2000);
  Corpus first = open({a, old_b}, {1, 1});
  Batches batches(first, 1, kBatch, {.order = DataOrder::shuffled});
  for (int step = 1; step <= 4; ++step) batches.begin(step);
  const std::vector<SourceCursor> before = batches.cursors();
  const auto of_a = drawn_of(before).at("a"), of_b = drawn_of(before).at("old b");
  ASSERT_NE(of_a, of_b);
  using Drawn = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;
  const auto from = [&](const std::vector<std::filesystem::path>& files) {
    Corpus corpus = open(files, std::vector<double>(files.size(), 1));
    Continued result = continued(corpus, before);
    for (std::size_t i = 0; i < corpus.sources.size(); ++i) {
      EXPECT_EQ(corpus.sources[i].name, result.cursors[i].name);
    }
    return result;
  };
  EXPECT_EQ(drawn_of(from({b, a}).cursors), (Drawn{{"a", of_a}, {"b", of_b}}));
  EXPECT_EQ(drawn_of(from({c, b, a}).cursors), (Drawn{{"a", of_a}, {"b", of_b}, {"c", {0, 2}}}));
  EXPECT_EQ(drawn_of(from({a, c}).gone), (Drawn{{"old b", of_b}}));
  EXPECT_EQ(drawn_of(from({b, b}).cursors).size(), 1u);
  EXPECT_EQ(from({b, b}).cursors[1].number, 2) << "twice the same text: each has its own order";
  EXPECT_THROW(Batches(first, 1, 1, {.order = DataOrder::shuffled, .cursors = {{"a", 1}}}),
               std::invalid_argument);
}

TEST_F(BatchesTest, OfEarlierCheckpointsGoOnByName) {
  const auto a = write("a.bin", 1000), b = write("b.bin", 1000, 2000);
  Corpus corpus = open({a, b}, {1, 1});
  using Drawn = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(drawn_of(continued(corpus, {{a, 7, 0, 0}, {b, 9, 0, 1}}).cursors),
            (Drawn{{"a", {7, 0}}, {"b", {9, 1}}}));
  EXPECT_EQ(drawn_of(continued(corpus, {{b, 9, 0, 0}, {"c", 3, 0, 1}}).cursors),
            (Drawn{{"a", {0, 2}}, {"b", {9, 0}}}));
}

TEST_F(BatchesTest, OfATrainingThatBeginsDoNotDependOnTheOrderOfTheList) {
  const auto a = write("a.bin", 1000), b = write("b.bin", 700, 2000), c = write("c.bin", 800, 4000);
  const Corpus one = open({a, b, c}, {3, 1, 2}), other = open({c, a, b}, {2, 3, 1});
  for (const DataOrder order : {DataOrder::shuffled, DataOrder::random}) {
    Batches first(one, 3, kBatch, {.order = order}), second(other, 3, kBatch, {.order = order});
    for (int step = 1; step <= 20; ++step) {
      first.begin(step);
      second.begin(step);
      ASSERT_EQ(first.read({0, kBatch}).tokens, second.read({0, kBatch}).tokens) << step;
    }
  }
}

/// Files listed otherwise after a stop: the rest of an epoch has what its begin has not had.
TEST_F(BatchesTest, OfAnEpochHaveEverySequenceOnceWhateverListItGoesOnWith) {
  const auto a = write("a.bin", 1000), b = write("b.bin", 1000, 2000),
             c = write("c.bin", 1000, 4000);
  const std::vector<std::vector<std::filesystem::path>> lists{{a, b}, {b, a}, {c, a, b}, {a, b, c},
                                                              {a},    {b},    {b, c}};
  for (const auto& before : lists) {
    for (const auto& after : lists) {
      const Corpus corpus = open(before, std::vector<double>(before.size(), 1));
      Batches first(corpus, 3, 1, {.order = DataOrder::shuffled});
      std::map<std::int32_t, int> seen;
      const auto draw = [&](Batches& batches, int step) {
        batches.begin(step);
        ++seen[batches.read({0, 1}).tokens.front()];
      };
      for (int step = 1; step <= 40; ++step) draw(first, step);
      Corpus next = open(after, std::vector<double>(after.size(), 1));
      DataOptions options{.order = DataOrder::shuffled};
      options.cursors = continued(next, first.cursors()).cursors;
      Batches rest(next, 3, 1, options);
      for (int step = 41; step <= 85; ++step) draw(rest, step);
      for (const auto& [token, times] : seen) EXPECT_EQ(times, 1) << token;
    }
  }
}

TEST_F(BatchesTest, AreTheSameBitsInAnyOrderOfTheList) {
  const auto a = write("a.bin", 1000), b = write("b.bin", 700, 2000);
  const Corpus corpus = open({a, b}, {3, 1});
  Batches whole(corpus, 3, kBatch, {.order = DataOrder::shuffled});
  for (int step = 1; step <= 9; ++step) whole.begin(step);
  Corpus turned = open({b, a}, {1, 3});
  DataOptions options{.order = DataOrder::shuffled};
  options.cursors = continued(turned, whole.cursors()).cursors;
  Batches rest(turned, 3, kBatch, options);
  for (int step = 10; step <= 60; ++step) {
    whole.begin(step);
    rest.begin(step);
    ASSERT_EQ(rest.read({0, kBatch}).tokens, whole.read({0, kBatch}).tokens) << step;
  }
  EXPECT_EQ(draw_batch(turned, Split::held_out, 3, 0, {0, 8}).tokens,
            draw_batch(corpus, Split::held_out, 3, 0, {0, 8}).tokens);
}

TEST_F(BatchesTest, OfOneBatchRepeatTheFirst) {
  const Corpus corpus = open({write("a.bin", 1000)});
  for (const DataOrder order : {DataOrder::random, DataOrder::shuffled}) {
    Batches plain(corpus, 1, kBatch, {.order = order});
    Batches one(corpus, 1, kBatch, {.order = order, .one_batch = true});
    plain.begin(1);
    const Batch first = plain.read({0, kBatch});
    for (const int step : {1, 2, 30}) {
      EXPECT_THAT(one.begin(step), testing::IsEmpty());
      EXPECT_EQ(one.read({0, kBatch}).tokens, first.tokens);
    }
  }
}

}  // namespace
}  // namespace moe::batches_test
