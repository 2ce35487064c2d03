#include "moe/train/checkpoint/index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "tests/moe/train/checkpoint/resealed.h"

namespace moe::checkpoint_index_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

class CheckpointIndexes : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static CheckpointIndex some_index() {
    CheckpointIndex index;
    index.iteration = 7;
    index.model.name = "some";
    index.layout = "dp=1,ep=1,esp=1,tp=1,pp=1";
    index.corpus_fingerprint = 0x0123456789abcdef;
    index.cursors = {{"a \"text\" \\", 12}};
    index.cursors[0].in_order = true;
    index.files["rank-00000.safetensors"] = {100, "00f3c2d1a0b9e847"};
    index.file_of["head"] = index.file_of["table"] = "rank-00000.safetensors";
    return index;
  }
  CheckpointIndex read(const std::string& text) const {
    std::ofstream(folder_ / kIndexFile) << text;
    return read_index(folder_);
  }
  std::string refusal(const std::string& text) const {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "read";
  }
  /// What is said of a content that somebody changed, checksum and all.
  template <class Change>
  std::string refusal_of(Change change) const {
    return refusal(resealed(to_text(some_index()), change));
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("index_test{}", getpid());
};

TEST_F(CheckpointIndexes, AreReadAsTheyWereWritten) {
  const CheckpointIndex index = some_index(), back = read(to_text(index));
  EXPECT_EQ(back.iteration, 7);
  EXPECT_EQ(to_json(back.model), to_json(index.model));
  EXPECT_EQ(back.layout, index.layout);
  EXPECT_EQ(back.corpus_fingerprint, index.corpus_fingerprint);
  ASSERT_EQ(back.cursors.size(), 1u);
  EXPECT_EQ(back.cursors[0].name, index.cursors[0].name);
  EXPECT_EQ(back.cursors[0].drawn, 12);
  EXPECT_TRUE(back.cursors[0].in_order);
  EXPECT_EQ(back.files, index.files);
  EXPECT_EQ(back.file_of, index.file_of);
  EXPECT_EQ(refusal_of([](Json&) {}), "read");
}

/// An earlier version reads format 1 alone: it refuses what it would read as missing.
TEST_F(CheckpointIndexes, SayByTheirFormatThatStatesAreLeftOut) {
  CheckpointIndex index = some_index();
  EXPECT_EQ(Json::parse(to_text(index))["moelab_checkpoint"], 1);
  EXPECT_FALSE(read(to_text(index)).has_initial_states);
  index.has_initial_states = true;
  const std::string text = to_text(index);
  EXPECT_EQ(Json::parse(text)["moelab_checkpoint"], 2);
  EXPECT_TRUE(read(text).has_initial_states);
  EXPECT_THAT(refusal(resealed(text, [](Json& content) { content["states"] = "lost"; })),
              HasSubstr("states: expected \"initial\""));
  EXPECT_THAT(refusal_of([](Json& content) { content["states"] = "initial"; }), HasSubstr("states"))
      << "format 1 has no such key";
  Json first = Json::parse(text);
  first["moelab_checkpoint"] = 1;
  EXPECT_THAT(refusal(first.dump(1)), HasSubstr("states"));
}

TEST_F(CheckpointIndexes, OfManyTensorsAreReadAsTheyWereWritten) {
  CheckpointIndex index = some_index();
  for (int i = 0; i < 100'000; ++i) {
    index.file_of[fmt::format("block1.experts.up.weight.{}", i)] = "rank-00000.safetensors";
  }
  EXPECT_EQ(read(to_text(index)).file_of, index.file_of);
}

TEST_F(CheckpointIndexes, ThatAreNotWhatWasWrittenAreRefusedWithFileAndKey) {
  const std::string file = (folder_ / kIndexFile).string();
  EXPECT_THAT(refusal(""), HasSubstr(file + ":1: not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object, got a list"));
  EXPECT_THAT(refusal("{}"), HasSubstr("moelab_checkpoint: missing"));
  EXPECT_THAT(refusal(R"({"moelab_checkpoint": 3})"), HasSubstr("expected format 1 or 2, got 3"));
  std::string changed = to_text(some_index());
  changed.replace(changed.find("\"iteration\": 7"), 14, "\"iteration\": 8");
  EXPECT_THAT(refusal(changed), HasSubstr("content: is not what was written"));
  const std::string deep(200'000, '[');
  EXPECT_THAT(
      refusal(fmt::format(R"({{"moelab_checkpoint": 1, "checksum": "", "content": {}}})", deep)),
      HasSubstr("expected at most 64 levels"));
}

TEST_F(CheckpointIndexes, WhoseValuesNoTrainingWritesAreRefusedWithFileLineAndKey) {
  const auto with = [&](const char* key, const Json& value) {
    return refusal_of([&](Json& content) { content[key] = value; });
  };
  for (const Json& iteration : {Json(2.5), Json(4294967298), Json(2147483648), Json(-1)}) {
    EXPECT_THAT(with("iteration", iteration),
                AllOf(HasSubstr("index.json:5: content.iteration: expected an integer from 0 to"),
                      HasSubstr(iteration.dump())));
  }
  EXPECT_THAT(with("layout", 5), HasSubstr("content.layout: expected a text, got 5"));
  EXPECT_THAT(with("model", Json::array()), HasSubstr("content.model: expected an object"));
  EXPECT_THAT(with("corpus_fingerprint", "0x12"), HasSubstr("expected 16 hexadecimal digits"));
  EXPECT_THAT(with("colour", "red"), HasSubstr("content.colour: unknown key"));
  EXPECT_THAT(with("weight_map", {{"head", "rank-00001.safetensors"}}),
              HasSubstr("content.weight_map.head: expected one of the files that the index lists, "
                        "got \"rank-00001.safetensors\""));
  for (const char* name : {"../x.safetensors", "/x.safetensors", "..", "."}) {
    EXPECT_THAT(with("files", {{name, {{"bytes", 1}, {"header_checksum", "0"}}}}),
                HasSubstr("expected the name of a file in this folder"));
  }
  EXPECT_THAT(refusal_of([](Json& content) { content.erase("files"); }),
              HasSubstr("content.files: missing"));
  EXPECT_THAT(refusal_of([](Json& content) { content["files"].begin().value()["bytes"] = -1; }),
              HasSubstr("bytes: expected an integer of at least 0, got -1"));
}

}  // namespace
}  // namespace moe::checkpoint_index_test
