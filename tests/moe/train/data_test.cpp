#include "moe/train/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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
  /// 1, 2, ..., 250, 1, 2, ...
  std::filesystem::path write_text(const std::string& name, std::size_t bytes, int from = 0) {
    std::vector<std::uint8_t> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      text[i] = static_cast<std::uint8_t>(1 + (from + i) % 250);
    return write(name, text);
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
    EXPECT_EQ(batch.targets[i], batch.tokens[i] % 250 + 1);
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
              testing::ElementsAre(114, 93, 50, 124));
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

TEST_F(Data, NamesFilePositionAndValueOfATokenBeyondTheVocabulary) {
  std::vector<std::uint16_t> tokens(500, 7);
  tokens[123] = 300;
  const auto path = write("x.bin", tokens);
  EXPECT_THAT(message([&] { open_corpus({path}, {}); }),
              HasSubstr("x.bin: token 123 is 300: expected below the vocabulary of 256"));
  EXPECT_THAT(message([&] { open_corpus({write_text("a.txt", 1000)}, {.vocabulary = 100}); }),
              HasSubstr("a.txt: token 99 is 100: expected below the vocabulary of 100"));
}

/// The blocks of a sparse file that were read would take room in memory.
TEST_F(Data, OfATebibyteIsOpenedByItsSample) {
  const auto path = directory_ / "large.bin";
  std::ofstream(path).put(0);
  constexpr std::int64_t bytes = std::int64_t{1} << 40;
  std::error_code too_large;
  std::filesystem::resize_file(path, bytes, too_large);
  if (too_large) GTEST_SKIP() << "no such file here: " << too_large.message();
  const Corpus corpus = open_corpus({path}, {.sequence_length = 16});
  EXPECT_EQ(corpus.tokens, bytes / 2);
  EXPECT_EQ(draw_batch(corpus, Split::training, 1, 0, {0, 2}).tokens,
            std::vector<std::int32_t>(32, 0));
}

TEST_F(Data, OfManyTokensNamesOneBeyondTheVocabularyWhenItIsDrawn) {
  std::vector<std::uint16_t> tokens((1 << 24) + 100'000, 7);
  for (std::size_t i = 4096; i < tokens.size(); i += 8192) tokens[i] = 300;  // beside the samples
  std::int64_t sampled = 0;
  const auto last = static_cast<std::int64_t>(tokens.size()) - 4096;
  for (std::int64_t i = 0; i < 1024; ++i) {
    for (std::int64_t t = i * last / 1023; t < i * last / 1023 + 4096; ++t) {
      sampled += tokens[static_cast<std::size_t>(t)] == 300 ? 1 : 0;
      tokens[static_cast<std::size_t>(t)] = 7;
    }
  }
  ASSERT_GT(sampled, 0);
  const auto path = write("many.bin", tokens);
  const Corpus corpus = open_corpus({path}, {.sequence_length = 16384});
  const std::string said = message([&] { draw_batch(corpus, Split::training, 1, 0, {0, 4}); });
  EXPECT_THAT(said, AllOf(HasSubstr("many.bin: token "),
                          HasSubstr(" is 300: expected below the vocabulary of 256")));
  tokens[tokens.size() - 1] = 9;
  EXPECT_NE(open_corpus({write("other.bin", tokens)}, {.sequence_length = 16}).fingerprint,
            corpus.fingerprint);
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
  EXPECT_THAT(message(draw), HasSubstr("is 300: expected below the vocabulary of 256"));
  std::filesystem::resize_file(path, 0);
  EXPECT_THAT(message(draw), AllOf(HasSubstr("x.bin: was cut short while it was trained on: it has "
                                             "0 of 10000 bytes, and token "),
                                   HasSubstr(" cannot be read")));
}

/// Two documents of 1000 tokens, of which a tenth is held out.
TEST_F(Data, WhatIsHeldOutBeginsWithADocumentThatIsNear) {
  const auto tokens = write("m.bin", std::vector<std::uint16_t>(1000, 7));
  const auto training_tokens = [&](std::int32_t of_the_first) {
    std::ofstream index(directory_ / "m.idx", std::ios::binary);
    const auto put = [&](const auto& value) {
      index.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    index.write("MMIDIDX\0\0", 9);
    put(std::uint64_t{1});
    put(std::uint8_t{8});
    put(std::uint64_t{2});
    put(std::uint64_t{3});
    put(of_the_first);
    put(std::int32_t{1000 - of_the_first});
    put(std::int64_t{0});
    put(std::int64_t{2 * of_the_first});
    for (const std::int64_t sequence : {0, 1, 2}) put(sequence);
    index.close();
    return open_corpus({tokens}, {.sequence_length = 16}).training_tokens;
  };
  EXPECT_EQ(training_tokens(895), 895);
  EXPECT_EQ(training_tokens(900), 900);
  EXPECT_EQ(training_tokens(905), 900);
  EXPECT_EQ(training_tokens(500), 900);
}

/// Text counts on from byte to byte, tokens are 250 and more.
TEST_F(Data, DrawsFilesByTheirWeights) {
  const auto text = write_text("a.txt", 5000);
  const auto tokens = write("b.bin", std::vector<std::uint16_t>(5000, 255));
  const Corpus corpus = open_corpus({text, tokens}, {.sequence_length = 16, .weights = {3, 1}});
  ASSERT_EQ(corpus.sources.size(), 2u);
  EXPECT_THAT(corpus.description, AllOf(HasSubstr("a.txt (75%)"), HasSubstr("b.bin (25%)"),
                                        HasSubstr("10000 tokens (1000 held out)")));
  for (const Split split : {Split::training, Split::held_out}) {
    int of_tokens = 0;
    for (std::int64_t step = 0; step < 100; ++step) {
      const Batch batch = draw_batch(corpus, split, 1, step, {0, 8});
      for (std::size_t i = 0; i < batch.tokens.size(); i += 16) of_tokens += batch.tokens[i] == 255;
    }
    EXPECT_NEAR(of_tokens, 200, 45);  // 3.7 standard deviations
  }
  const Corpus turned = open_corpus({tokens, text}, {.sequence_length = 16, .weights = {1, 3}});
  EXPECT_EQ(turned.fingerprint, corpus.fingerprint);
  EXPECT_THAT(message([&] {
                open_corpus({text, write_text("none.txt", 0)}, {.weights = {1, 1}});
              }),
              HasSubstr("none.txt: empty"));
}

TEST_F(Data, SaysOfTextWhatIsNotTrainedOnAsItStands) {
  const auto remarks = [](const std::filesystem::path& file, std::int64_t vocabulary) {
    return open_corpus({file}, {.vocabulary = vocabulary, .sequence_length = 16}).remarks;
  };
  const auto text = write_text("a.txt", 1000);
  EXPECT_THAT(remarks(text, 256), testing::IsEmpty());
  EXPECT_THAT(remarks(text, 50304),
              testing::ElementsAre(HasSubstr("of which there are 256: the vocabulary is 50304;")));
  EXPECT_THAT(remarks(write("b.bin", std::vector<std::uint16_t>(500, 7)), 50304),
              testing::IsEmpty());
  const auto lines = directory_ / "c.jsonl";
  for (int i = 0; i < 50; ++i) {
    std::ofstream(lines, std::ios::app) << R"({"text": "a text of so many letters", "id": 3})"
                                        << "\n";
  }
  EXPECT_THAT(remarks(lines, 256),
              testing::ElementsAre(HasSubstr("50 texts in 1 file of JSON lines: ")));
  const Corpus corpus = open_corpus({lines}, {.sequence_length = 16});
  EXPECT_EQ(corpus.training_tokens, 45 * 26) << "what is held out begins with a text";
}

TEST_F(Data, WhatIsHeldOutIsNotTrainedOnInAnotherCopy) {
  const auto a = write_text("a.txt", 1000), copy = write_text("copy.txt", 1000);
  const auto other = write_text("other.txt", 1000, 7), again = directory_ / "." / "a.txt";
  const CorpusOptions options{.sequence_length = 16};
  const auto refusal = [&](const std::vector<std::filesystem::path>& files) {
    return message([&] { open_corpus(files, options); });
  };
  const std::string expected = "what is held out of it would be trained on: expected it once, or " +
                               a.string() + ":2 to draw it twice as often";
  EXPECT_EQ(refusal({a, a}), a.string() + ": is listed twice: " + expected);
  EXPECT_EQ(refusal({a, other, again}),
            again.string() + ": is the same file as " + a.string() + ": " + expected);
  EXPECT_EQ(refusal({a, other, copy}),
            copy.string() + ": is the same text as " + a.string() + ": " + expected);
  EXPECT_EQ(refusal({a, other}), "no InputError");
  EXPECT_EQ(refusal({a, copy, write_text("long.txt", 9000, 3)}), "no InputError")
      << "neither is held out";
  EXPECT_EQ(message([&] {
              open_corpus({a, copy}, {.sequence_length = 16, .weights = {1, 2}});
            }),
            "no InputError")
      << "each with weights holds the same part out";
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
