#include "moe/train/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include "moe/errors.h"

namespace moe::data_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Data : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  template <class T>
  std::filesystem::path write(const std::string& name, const std::vector<T>& values) {
    const auto path = directory_ / name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
    return path;
  }
  /// 0, 1, ..., 249, 0, 1, ...
  std::filesystem::path write_text(const std::string& name, std::size_t bytes, int from = 0) {
    std::vector<std::uint8_t> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>((from + i) % 250);
    return write(name, text);
  }
  std::filesystem::path write_llmc(const std::string& name, std::int32_t magic,
                                   std::int32_t version, std::int32_t announced,
                                   const std::vector<std::uint16_t>& tokens) {
    std::vector<std::uint16_t> all(512);
    const std::int32_t header[3] = {magic, version, announced};
    std::memcpy(all.data(), header, sizeof header);
    all.insert(all.end(), tokens.begin(), tokens.end());
    return write(name, all);
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

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-data-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Data, TargetsAreTheNextTokens) {
  const Corpus corpus = open_corpus({write_text("a.txt", 1000)}, {.sequence_length = 16});
  const Batch batch = draw_batch(corpus, Split::training, 1, 0, {0, 8});
  ASSERT_EQ(batch.tokens.size(), 8u * 16u);
  ASSERT_EQ(batch.targets.size(), 8u * 16u);
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
    EXPECT_EQ(batch.targets[i], (batch.tokens[i] + 1) % 250);
  }
}

TEST_F(Data, GlobalBatchDoesNotDependOnHowRanksShareIt) {
  const Corpus corpus = open_corpus({write_text("a.txt", 5000)}, {.sequence_length = 16});
  const Batch whole = draw_batch(corpus, Split::training, 7, 3, {0, 12});
  for (const std::int64_t ranks : {2, 3, 4}) {
    Batch parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t count = 12 / ranks;
      const Batch part = draw_batch(corpus, Split::training, 7, 3, {rank * count, count});
      parts.tokens.insert(parts.tokens.end(), part.tokens.begin(), part.tokens.end());
      parts.targets.insert(parts.targets.end(), part.targets.begin(), part.targets.end());
    }
    EXPECT_EQ(parts.tokens, whole.tokens);
    EXPECT_EQ(parts.targets, whole.targets);
  }
}

TEST_F(Data, StepsSeedsAndSplitsDrawOtherSamples) {
  const Corpus corpus = open_corpus({write_text("a.txt", 50000)}, {.sequence_length = 16});
  const auto tokens = [&](Split split, std::int64_t seed, std::int64_t step) {
    return draw_batch(corpus, split, seed, step, {0, 4}).tokens;
  };
  const std::set<std::vector<std::int32_t>> distinct{
      tokens(Split::training, 1, 0), tokens(Split::training, 1, 1), tokens(Split::training, 2, 0),
      tokens(Split::held_out, 1, 0)};
  EXPECT_EQ(distinct.size(), 4u);
}

/// A training that goes on from a checkpoint, and one of another version, draw the same samples.
TEST_F(Data, SamplesOfASeedAndAStepStayTheSame) {
  const Corpus corpus = open_corpus({write_text("a.txt", 50000)}, {.sequence_length = 16});
  const auto tokens = draw_batch(corpus, Split::training, 1, 1, {0, 4}).tokens;
  ASSERT_EQ(tokens.size(), 64u);
  // The text counts to 250 again and again, so the first token says where a sample begins.
  EXPECT_THAT((std::vector{tokens[0], tokens[16], tokens[32], tokens[48]}),
              testing::ElementsAre(113, 92, 49, 123));
}

TEST_F(Data, TrainingNeverSeesWhatIsHeldOut) {
  std::vector<std::uint8_t> text(1000, 'a');
  std::fill(text.begin() + 900, text.end(), 'b');
  const Corpus corpus = open_corpus({write("a.txt", text)}, {.sequence_length = 16});
  for (std::int64_t step = 0; step < 200; ++step) {
    for (const auto token : draw_batch(corpus, Split::training, 1, step, {0, 4}).targets) {
      ASSERT_EQ(token, 'a');
    }
    for (const auto token : draw_batch(corpus, Split::held_out, 1, step, {0, 4}).tokens) {
      ASSERT_EQ(token, 'b');
    }
  }
}

TEST_F(Data, FilesFollowOneAnother) {
  const auto whole = write_text("whole.txt", 1000);
  const auto first = write_text("first.txt", 333);
  const auto empty = write_text("empty.txt", 0);
  const auto rest = write_text("rest.txt", 667, 333);
  const Corpus one = open_corpus({whole}, {.sequence_length = 50});
  const Corpus three = open_corpus({first, empty, rest}, {.sequence_length = 50});
  EXPECT_EQ(one.tokens, three.tokens);
  EXPECT_EQ(one.fingerprint, three.fingerprint);
  EXPECT_EQ(draw_batch(one, Split::training, 1, 0, {0, 100}).tokens,
            draw_batch(three, Split::training, 1, 0, {0, 100}).tokens);
}

TEST_F(Data, ReadsRawAndLlmcTokensAlike) {
  std::vector<std::uint16_t> tokens(500);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{50000});
  const CorpusOptions options{.vocabulary = 50500, .sequence_length = 16};
  const Corpus raw = open_corpus({write("raw.bin", tokens)}, options);
  const Corpus llmc = open_corpus({write_llmc("llmc.bin", 20240520, 1, 500, tokens)}, options);
  EXPECT_EQ(raw.tokens, 500);
  EXPECT_EQ(raw.fingerprint, llmc.fingerprint);
  const Batch batch = draw_batch(raw, Split::training, 1, 0, {0, 4});
  EXPECT_EQ(batch.tokens, draw_batch(llmc, Split::training, 1, 0, {0, 4}).tokens);
  EXPECT_GE(batch.tokens[0], 50000);
  EXPECT_EQ(batch.targets[0], batch.tokens[0] + 1);
}

TEST_F(Data, NamesFilePositionAndValueOfATokenBeyondTheVocabulary) {
  std::vector<std::uint16_t> tokens(500, 7);
  tokens[123] = 300;
  const auto path = write("x.bin", tokens);
  EXPECT_THAT(message([&] { open_corpus({path}, {}); }),
              HasSubstr("x.bin: token 123 is 300: expected below the vocabulary of 256"));
  EXPECT_THAT(message([&] { open_corpus({write_text("a.txt", 1000)}, {.vocabulary = 100}); }),
              HasSubstr("a.txt: token 100 is 100: expected below the vocabulary of 100"));
}

TEST_F(Data, RefusesFilesThatAreCutShort) {
  const std::vector<std::uint16_t> tokens(500, 7);
  EXPECT_THAT(message([&] { open_corpus({write("odd.bin", std::vector<char>(1001))}, {}); }),
              HasSubstr("odd.bin: 1001 bytes: expected uint16 tokens, an even number"));
  EXPECT_THAT(
      message([&] { open_corpus({write_llmc("short.bin", 20240520, 1, 600, tokens)}, {}); }),
      HasSubstr("short.bin: 2024 bytes: expected 2224 for the 600 tokens its header announces"));
  EXPECT_THAT(message([&] { open_corpus({write_llmc("wide.bin", 20240801, 7, 250, tokens)}, {}); }),
              HasSubstr("version 1 (uint16 tokens)"));
}

TEST_F(Data, RefusesTokensOf32Bits) {
  const std::vector<std::int32_t> tokens(200, 3);
  const auto path = write("megatron.bin", tokens);
  EXPECT_THAT(message([&] {
                open_corpus({path}, {100000, 8, 0.1});
              }),
              AllOf(HasSubstr(path.string()), HasSubstr("expected a vocabulary of at most 65536")));
  EXPECT_EQ(open_corpus({path}, {50000, 8, 0.1}).tokens, 400) << "read as two each";
  for (const int code : {4, 8}) {
    std::vector<char> index{'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    index.push_back(static_cast<char>(code));
    write("megatron.idx", index);
    const std::string why = message([&] { open_corpus({path}, {50000, 8, 0.1}); });
    if (code == 4) {
      EXPECT_THAT(why, HasSubstr("megatron.idx says that its tokens are of type 4 (int32)"));
    } else {
      EXPECT_EQ(why, "no InputError");
    }
  }
}

TEST_F(Data, RefusesFilesThatChangeWhileTheyAreTrainedOn) {
  const auto path = write("x.bin", std::vector<std::uint16_t>(5000, 7));
  const Corpus corpus = open_corpus({path}, {.sequence_length = 16});
  const auto draw = [&] { draw_batch(corpus, Split::training, 1, 0, {0, 4}); };
  EXPECT_NO_THROW(draw());
  {
    const std::vector<std::uint16_t> large(5000, 300);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(large.data()), 10000);
  }
  EXPECT_THAT(message(draw), HasSubstr("has become 300 while it was trained on"));
  std::filesystem::resize_file(path, 0);
  EXPECT_THAT(message(draw), HasSubstr("x.bin: was cut short while it was trained on"));
}

TEST_F(Data, SaysHowMuchTextASequenceNeeds) {
  EXPECT_THAT(message([&] { open_corpus({write_text("a.txt", 600)}, {.sequence_length = 64}); }),
              AllOf(HasSubstr("a.txt: 600 tokens, 60 of them held out"), HasSubstr("at least 65")));
  EXPECT_NO_THROW(open_corpus({write_text("a.txt", 650)}, {.sequence_length = 64}));
  EXPECT_THAT(message([&] { open_corpus({write_text("none.txt", 0)}, {}); }),
              HasSubstr("none.txt: empty"));
}

TEST_F(Data, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT(message([&] { open_corpus({directory_ / "absent"}, {}); }),
              HasSubstr("absent: No such file"));
  EXPECT_THAT(message([&] { open_corpus({directory_}, {}); }),
              HasSubstr("is a folder: expected files"));
  EXPECT_THAT(message([&] { open_corpus({"/dev/null"}, {}); }), HasSubstr("a regular file"));
  const auto text = write_text("a.txt", 1000);
  const auto tokens = write("b.bin", std::vector<std::uint16_t>(500, 7));
  EXPECT_THAT(message([&] { open_corpus({text, tokens}, {}); }), HasSubstr("not both"));
}

TEST_F(Data, DefaultCorpusIsTextOfThisRepository) {
  const auto files = default_corpus_files();
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
  EXPECT_NE(std::find(files.begin(), files.end(), MOELAB_SOURCE_DIR "/moe/train/data.cpp"),
            files.end());
  const Corpus corpus = open_corpus({}, {});
  EXPECT_GT(corpus.tokens, 50000);
  EXPECT_THAT(corpus.description, HasSubstr("held out"));
}

}  // namespace
}  // namespace moe::data_test
