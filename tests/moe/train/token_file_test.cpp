#include "moe/train/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/moe/train/packed_by_gzip.h"
#include "tests/moe/train/written_files.h"

namespace moe::token_file_test {
namespace {

using namespace written_files;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TokenFiles : public WrittenFiles {
 protected:
  std::filesystem::path write_bytes(const std::string& name, const std::string& bytes) {
    return WrittenFiles::write(name, bytes);
  }
  template <class T>
  std::filesystem::path write(const std::string& name, const std::vector<T>& values) {
    return write_bytes(name, bytes_of_all(values));
  }
  template <class T>
  std::filesystem::path write_llmc(const std::string& name, std::int32_t magic,
                                   std::int32_t version, std::int32_t announced,
                                   const std::vector<T>& tokens) {
    std::vector<std::int32_t> header(256);
    header[0] = magic;
    header[1] = version;
    header[2] = announced;
    return write_bytes(name, bytes_of_all(header) + bytes_of_all(tokens));
  }
  /// Megatron-LM's index of sequences of these lengths, the documents beginning at `documents`.
  std::filesystem::path write_index(const std::string& name, int code, std::int64_t bytes_each,
                                    const std::vector<std::int32_t>& lengths,
                                    const std::vector<std::int64_t>& documents) {
    std::vector<std::int64_t> pointers;
    std::int64_t at = 0;
    for (const std::int32_t length : lengths) {
      pointers.push_back(at);
      at += length * bytes_each;
    }
    return write_bytes(
        name, std::string("MMIDIDX\0\0", 9) + bytes_of_all(std::vector<std::uint64_t>{1}) +
                  static_cast<char>(code) +
                  bytes_of_all(std::vector<std::uint64_t>{lengths.size(), documents.size()}) +
                  bytes_of_all(lengths) + bytes_of_all(pointers) + bytes_of_all(documents));
  }
  static std::vector<std::int32_t> all_tokens(const TokenFile& file,
                                              std::int64_t vocabulary = 1 << 30) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(file.tokens));
    read_tokens(file, 0, tokens, vocabulary);
    return tokens;
  }
  template <class Body>
  static std::string message(Body body) {
    return input_error(body);
  }
};

TEST_F(TokenFiles, OfEveryFormatHoldTheSameTokens) {
  std::vector<std::int32_t> tokens(500);
  std::iota(tokens.begin(), tokens.end(), 50000);
  const std::vector<std::uint16_t> narrow(tokens.begin(), tokens.end());
  const std::int64_t vocabulary = 60000;
  const auto read = [&](const std::filesystem::path& path, int bits = 0) {
    return all_tokens(open_token_file(path, vocabulary, bits));
  };
  EXPECT_EQ(read(write("raw.bin", narrow)), tokens);
  EXPECT_EQ(read(write("wide.bin", tokens), 32), tokens);
  EXPECT_EQ(read(write_llmc("llmc.bin", 20240520, 1, 500, narrow)), tokens);
  EXPECT_EQ(read(write_llmc("llama.bin", 20240801, 7, 500, tokens)), tokens);
  for (const bool is_wide : {false, true}) {
    const auto data = is_wide ? write("megatron.bin", tokens) : write("megatron.bin", narrow);
    write_index("megatron.idx", is_wide ? 4 : 8, is_wide ? 4 : 2, {100, 50, 350}, {0, 2, 3});
    const TokenFile file = open_token_file(data, vocabulary, 0);
    EXPECT_EQ(all_tokens(file), tokens);
    EXPECT_THAT(file.documents, ElementsAre(0, 150));
  }
}

/// The array of numpy.save.
std::string npy_of(const std::vector<std::uint16_t>& tokens) {
  const std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (" +
                             std::to_string(tokens.size()) + ",), }\n";
  return "\x93NUMPY" + std::string{1, 0, static_cast<char>(header.size()), 0} + header +
         bytes_of_all(tokens);
}

TEST_F(TokenFiles, HoldTheSameInAnArrayOrPackedOrByTheirPrefix) {
  std::vector<std::uint16_t> narrow(500);
  std::iota(narrow.begin(), narrow.end(), std::uint16_t{40000});
  const std::vector<std::int32_t> tokens(narrow.begin(), narrow.end());
  const auto read = [&](const std::filesystem::path& path) {
    const TokenFile file = open_token_file(path, 60000, 0);
    EXPECT_FALSE(file.is_text) << path;
    return all_tokens(file);
  };
  EXPECT_EQ(read(write_bytes("shard.npy", npy_of(narrow))), tokens);
  EXPECT_EQ(read(write_bytes("shard.bin", npy_of(narrow))), tokens) << "whatever it is called";
  EXPECT_EQ(read(write_bytes("shard.npy.gz", packed_by_gzip(npy_of(narrow)))), tokens);
  EXPECT_EQ(read(write_bytes("raw.bin.gz", packed_by_gzip(bytes_of_all(narrow)))), tokens);
  write("my.corpus_text_document.bin", narrow);
  write_index("my.corpus_text_document.idx", 8, 2, {100, 400}, {0, 1, 2});
  const auto prefix = directory_ / "my.corpus_text_document";
  EXPECT_EQ(read(prefix), tokens);
  EXPECT_THAT(open_token_file(prefix, 60000, 0).documents, ElementsAre(0, 100));
  EXPECT_THAT(message([&] { read(directory_ / "nowhere"); }), HasSubstr("nowhere: No such file"));
}

TEST_F(TokenFiles, OfTextHaveItsBytesAlsoWherePackedOrInLinesOfJson) {
  const std::string text = "one line\nand another\n";
  const auto read = [&](const std::string& name, const std::string& bytes) {
    const TokenFile file = open_token_file(write_bytes(name, bytes), 256, 0);
    EXPECT_TRUE(file.is_text) << name;
    const std::vector<std::int32_t> tokens = all_tokens(file);
    return std::string(tokens.begin(), tokens.end());
  };
  const std::string lines = "{\"text\": \"one line\"}\n{\"text\": \"and another\\n\"}\n";
  EXPECT_EQ(read("a.txt", text), text);
  EXPECT_EQ(read("a.txt.gz", packed_by_gzip(text)), text);
  EXPECT_EQ(read("a.jsonl", lines), text);
  EXPECT_EQ(read("a.jsonl.gz", packed_by_gzip(lines)), text);
  const TokenFile file = open_token_file(directory_ / "a.jsonl", 256, 0);
  EXPECT_TRUE(file.is_json_lines);
  EXPECT_THAT(file.documents, ElementsAre(0, 9));
  EXPECT_THAT(message([&] { read("twice.gz", packed_by_gzip(packed_by_gzip(text))); }),
              HasSubstr("twice.gz: is packed by gzip twice"));
}

TEST_F(TokenFiles, OfLlmcThatHoldNoTokensAreRefused) {
  const std::vector<std::uint16_t> tokens(500, 7);
  const auto refused = [&](std::int32_t magic, std::int32_t version) {
    return message(
        [&] { open_token_file(write_llmc("x.bin", magic, version, 500, tokens), 60000, 0); });
  };
  EXPECT_THAT(refused(20240522, 1),
              HasSubstr("x.bin: header with magic 20240522, version 1: llm.c writes it before "
                        "examples of an evaluation: expected tokens, magic 20240520"));
  EXPECT_THAT(refused(20240326, 3), HasSubstr("before a model"));
  EXPECT_THAT(refused(20240328, 2), HasSubstr("before a tokenizer"));
  EXPECT_THAT(refused(20251231, 9), HasSubstr("before something else"));
  EXPECT_EQ(refused(20251331, 9), "no InputError") << "no date: raw tokens";
}

TEST_F(TokenFiles, OfLettersAreNotReadAsRawTokens) {
  const auto path = write_bytes("x.bin", std::string(200, 'a'));
  EXPECT_THAT(message([&] { open_token_file(path, 50000, 0); }),
              HasSubstr("x.bin: is text, not raw tokens: expected another name than .bin"));
  EXPECT_EQ(open_token_file(path, 50000, 16).tokens, 100);
}

TEST_F(TokenFiles, OfALargeVocabularyHave32Bits) {
  const std::vector<std::uint32_t> tokens{3, 99999, 7, 65536};
  const auto path = write("x.bin", tokens);
  EXPECT_THAT(all_tokens(open_token_file(path, 100000, 0)), ElementsAre(3, 99999, 7, 65536));
  const TokenFile narrow = open_token_file(path, 100000, 16);
  EXPECT_EQ(narrow.tokens, 8);
}

TEST_F(TokenFiles, OfWordsWithAZeroBetweenAreNotReadInSilence) {
  const auto path = write("x.bin", std::vector<std::int32_t>(200, 3));
  EXPECT_THAT(message([&] { open_token_file(path, 50000, 0); }),
              AllOf(HasSubstr(path.string()), HasSubstr("every second uint16 token is 0"),
                    HasSubstr("--token-bits 32")));
  EXPECT_EQ(open_token_file(path, 50000, 16).tokens, 400);
  EXPECT_EQ(open_token_file(path, 50000, 32).tokens, 200);
}

TEST_F(TokenFiles, ThatAreCutShortAreRefused) {
  const std::vector<std::uint16_t> tokens(500, 7);
  const auto refused = [&](const std::filesystem::path& path, int bits = 0) {
    return message([&] { open_token_file(path, 256, bits); });
  };
  EXPECT_THAT(refused(write("odd.bin", std::vector<char>(1001))),
              HasSubstr("odd.bin: 1001 bytes: expected uint16 tokens, an even number"));
  EXPECT_THAT(refused(write("odd.bin", std::vector<char>(1002)), 32),
              HasSubstr("odd.bin: 1002 bytes: expected uint32 tokens, a multiple of 4"));
  EXPECT_THAT(refused(write_llmc("short.bin", 20240520, 1, 600, tokens)),
              HasSubstr("short.bin: 2024 bytes: expected 2224 for the 600 tokens its header"));
  EXPECT_THAT(refused(write_llmc("other.bin", 20240801, 6, 250, tokens)),
              HasSubstr("magic 20240801, version 6: expected version 7"));
  write("m.bin", tokens);
  write_index("m.idx", 8, 2, {500, 1}, {0, 1, 2});
  EXPECT_THAT(refused(directory_ / "m.bin"),
              HasSubstr("m.bin: 1000 bytes: expected 1002 for the 501 tokens m.idx announces"));
}

TEST_F(TokenFiles, WithAnIndexThatDoesNotFitAreRefused) {
  const auto data = write("m.bin", std::vector<std::uint16_t>(500, 7));
  const auto refused = [&] { return message([&] { open_token_file(data, 256, 0); }); };
  write_index("m.idx", 5, 8, {125}, {0, 1});
  EXPECT_THAT(refused(), HasSubstr("m.idx: tokens are of type 5 (int64): expected 1 (uint8)"));
  write_index("m.idx", 8, 4, {250, 250}, {0, 2});
  EXPECT_THAT(refused(), HasSubstr("sequence 1 has 250 tokens from byte 1000 on: expected "
                                   "sequences that follow one another, from byte 500 on"));
  write_index("m.idx", 8, 2, {250, 250}, {0, 3});
  EXPECT_THAT(refused(), HasSubstr("document 1 begins at sequence 3: expected one from 0 to 2"));
  const auto index = write_index("m.idx", 8, 2, {250, 250}, {0, 2});
  std::filesystem::resize_file(index, 50);
  EXPECT_THAT(refused(), HasSubstr("m.idx: 50 bytes: is cut short in the places of sequences"));
  std::ofstream(index) << "no index at all";
  EXPECT_THAT(refused(), HasSubstr("m.idx: does not begin as Megatron-LM's index does"));
  EXPECT_THAT(message([&] { open_token_file(index, 256, 0); }),
              HasSubstr("m.idx: is an index: expected the .bin beside it"));
  // A link to a disk that is not there: without the index the tokens would be misread.
  std::filesystem::remove(index);
  std::filesystem::create_symlink(directory_ / "nowhere", index);
  EXPECT_THAT(refused(), HasSubstr("m.idx: No such file or directory"));
}

TEST_F(TokenFiles, NameATokenThatIsNegative) {
  const auto data = write("m.bin", std::vector<std::int32_t>{1, 2, -1, 4});
  write_index("m.idx", 4, 4, {4}, {0, 1});
  const TokenFile file = open_token_file(data, 256, 0);
  EXPECT_THAT(message([&] { all_tokens(file, 256); }),
              HasSubstr("m.bin: token 2 is -1: expected below the vocabulary of 256"));
}

}  // namespace
}  // namespace moe::token_file_test
