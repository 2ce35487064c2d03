#include "moe/train/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/moe/train/written_files.h"

namespace moe::json_lines_test {
namespace {

using namespace written_files;
using testing::ElementsAre;
using testing::HasSubstr;

JsonLines read(const std::string& text) { return read_json_lines("a.jsonl", bytes_of_text(text)); }

TEST(JsonLines, GiveTheirTextsEachEndedByANewline) {
  const JsonLines lines = read(
      "{\"text\": \"one\", \"meta\": {\"score\": NaN, \"text\": 3}}\n"
      "\n"
      "{\"id\": -Infinity, \"text\": \"two \\\"\\u00e9\\\" \\\\\\n\"}\r\n"
      "{\"text\": \"\"}\n"
      "{\"text\": \"NaN, \\\\ and Infinity\"}");
  EXPECT_EQ(text_of_bytes(lines.text), "one\ntwo \"\u00e9\" \\\nNaN, \\ and Infinity\n");
  EXPECT_THAT(lines.documents, ElementsAre(0, 4, 15));
}

TEST(JsonLines, MayBeginWithAMarkOfUtf8) {
  EXPECT_EQ(text_of_bytes(read("\xef\xbb\xbf{\"text\": \"a\", \"n\": NaN}\n").text), "a\n");
}

TEST(JsonLines, ThatHaveNoTextAreRefusedByLine) {
  const auto refused = [](const std::string& line) {
    return input_error([&] { read("{\"text\": \"a\"}\n\n" + line + "\n"); });
  };
  EXPECT_THAT(refused("{\"content\": \"b\", \"id\": 1}"),
              HasSubstr("a.jsonl:3: text: missing: the keys are content, id; expected the text in "
                        "\"text\", as jq -c '{text: .KEY}'"));
  EXPECT_THAT(refused("{\"text\": [1, 2]}"), HasSubstr("a.jsonl:3: text: expected a text, got"));
  EXPECT_THAT(refused("{\"text\": null}"), HasSubstr("a.jsonl:3: text: expected a text, got null"));
  EXPECT_THAT(refused("[\"b\"]"), HasSubstr("a.jsonl:3: expected an object with a \"text\""));
  EXPECT_THAT(refused("{\"text\": \"b\""), HasSubstr("a.jsonl:3: not JSON"));
  EXPECT_THAT(refused("{\"text\": \"b\", \"x\": Nan}"), HasSubstr("a.jsonl:3: not JSON"));
}

}  // namespace
}  // namespace moe::json_lines_test
