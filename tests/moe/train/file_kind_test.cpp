#include "moe/train/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/moe/train/packed_by_gzip.h"
#include "tests/moe/train/written_files.h"

namespace moe::file_kind_test {
namespace {

using namespace written_files;
using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

FileKind kind(const std::string& name, const std::string& bytes) {
  return kind_of(name, name, bytes_of_text(bytes));
}

TEST(FileKinds, FollowFromTheFirstBytesWhateverTheName) {
  for (const char* name : {"a", "a.txt", "a.md", "a.json"}) {
    EXPECT_EQ(kind(name, "Some text.\n"), FileKind::plain) << name;
    EXPECT_EQ(kind(name, "caf\xe9 in Latin-1"), FileKind::plain) << name;
    EXPECT_EQ(kind(name, "\xef\xbb\xbfwith a mark of UTF-8"), FileKind::plain) << name;
    EXPECT_EQ(kind(name, ""), FileKind::plain) << name;
    EXPECT_EQ(kind(name, "{ \"text\": \"a\" } \r\n{"), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, "\n{}"), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, "\xef\xbb\xbf{\"text\": \"a\"}\n"), FileKind::json_lines) << name;
    EXPECT_EQ(kind(name, "\x93NUMPY\x01"), FileKind::npy) << name;
    EXPECT_EQ(kind(name, packed_by_gzip("text")), FileKind::gzip) << name;
  }
  for (const char* name : {"a.jsonl", "a.ndjson"}) {
    EXPECT_EQ(kind(name, "[\"a\"]\n"), FileKind::json_lines) << "so that its reader refuses it";
  }
  EXPECT_EQ(kind("a.npy", ""), FileKind::plain) << "an empty file adds nothing";
  EXPECT_EQ(kind("a.cpp", "{\n  code();\n}\n"), FileKind::plain);
  EXPECT_EQ(kind("a.txt", "[a list]\n"), FileKind::plain);
}

TEST(FileKinds, OfBinAreTokensUnlessTheyBeginAsHardlyAnyTokensDo) {
  for (const std::string& tokens : {"\x1f\x8b\x09\x00"s, "\xff\xfe\x01\x00"s, "\x80\x04\x95\x00"s,
                                    "{\"\x01\x02}"s, "\0\0\0\0"s, "BZh9"s}) {
    EXPECT_EQ(kind("a.bin", tokens), FileKind::plain) << tokens;
  }
  EXPECT_EQ(kind("a.bin", "\x93NUMPY\x01"), FileKind::npy);
  EXPECT_EQ(kind("a.bin", packed_by_gzip("text")), FileKind::gzip);
}

TEST(FileKinds, ThatNothingReadsAreRefusedWithAWayOut) {
  struct Case {
    std::string name, bytes, what, way_out;
  };
  const std::vector<Case> cases{
      {"model.pt", "PK\x03\x04", "a zip archive, as .pt and .npz files are", "numpy.save"},
      {"pytorch_model.bin", "PK\x03\x04", "a zip archive", "numpy.save"},
      {"old.bin", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", "a file of torch.save", "numpy.save"},
      {"a.pkl", "\x80\x04\x95", "a pickle of Python", "numpy.save"},
      {"a.h5", "\x89HDF\r\n\x1a\n", "an HDF5 file", "numpy.save"},
      {"a.parquet", "PAR1\x15\x04", "a Parquet file", ".to_json(\"X.jsonl\""},
      {"a.arrow", "ARROW1\0\0"s, "an Arrow file", ".to_json("},
      {"a.arrow", "\xff\xff\xff\xff\x10"s, "a stream of Arrow", ".to_json("},
      {"a.jsonl.zst", "\x28\xb5\x2f\xfd", "packed by zstd", "zstd -d"},
      {"a.xz", "\xfd\x37zXZ\0"s, "packed by xz", "xz -dk"},
      {"a.bz2", "BZh91AY", "packed by bzip2", "bunzip2"},
      {"a.lz4", "\x04\x22\x4d\x18", "packed by lz4", "lz4 -d"},
      {"a.pdf", "%PDF-1.7", "a PDF", "pdftotext"},
      {"a.txt", "\xff\xfet\0e\0"s, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
      {"a.txt", "\xfe\xff\0t\0e"s, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
      {"a.txt", "\xff\xfe\0\0t\0\0\0"s, "text in UTF-32", "iconv -f UTF-32 -t UTF-8"},
      {"a.txt", "t\0e\0x\0t\0"s, "byte 1 is 0", "UTF-16 without a mark"},
      {"tokens", "\x01\0\x02\0"s, "byte 1 is 0", "tokens in a file named .bin"},
      {"a.json", "[{\"text\": \"a\"}]", "a JSON document", "jq -c"},
      {"shard.bin", "version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS",
       "git lfs"},
      {"a.npy", "some text", "does not begin as a .npy does", ".txt"},
      {"a.gz", "some text", "does not begin as a .gz does", ".txt"},
      {"tokenizer.json", "{\n \"model\": {}\n}", "a tokenizer", "tokenizers as t; numpy.save"},
      {"a.json", "{\n \"text\": \"a\"\n}", "a JSON document", "jq -c"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(input_error([&] { kind(one.name, one.bytes); }),
                AllOf(HasSubstr(one.name + ": "), HasSubstr(one.what), HasSubstr(one.way_out)))
        << one.name;
  }
}

}  // namespace
}  // namespace moe::file_kind_test
