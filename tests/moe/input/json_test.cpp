#include "moe/input/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"

namespace moe::json_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const std::string& text) {
  try {
    parse_json(text, "x.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Json, KeepsValuesTypesAndOrder) {
  const InputDocument document =
      parse_json(R"({"b": [1, -2], "a": 2.5, "t": true, "s": "x", "n": null, "o": {}})", "x");
  const InputObject object = document.object();
  EXPECT_THAT(object.keys(), ElementsAre("b", "a", "t", "s", "n", "o"));
  EXPECT_THAT(object.member("b").integers(-2), ElementsAre(1, -2));
  EXPECT_EQ(object.number("a", 0, 3, ""), 2.5);
  EXPECT_EQ(object.text("s"), "x");
  EXPECT_TRUE(object.object("o").keys().empty());
}

TEST(Json, SaysTheLineOfASyntaxError) {
  EXPECT_THAT(error_of("{\"a\": 1,\n\"b\": }"), HasSubstr("x.json:2: not JSON: "));
  EXPECT_THAT(error_of(""), HasSubstr("x.json:1: not JSON: "));
  EXPECT_THAT(error_of("[1] [2]"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[NaN]"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[\"\xFF\"]"), HasSubstr("not JSON"));
  EXPECT_EQ(error_of(std::string("[1]\n\0 {", 7)), "x.json:2: not JSON: has a byte 0");
}

TEST(Json, QuotesOnlyTheBeginningOfALongMistake) {
  const std::string message = error_of("[\"" + std::string(100000, 'x'));
  EXPECT_THAT(message, HasSubstr("not JSON"));
  EXPECT_LT(message.size(), 300u);
}

TEST(Json, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"),
            "x.json:3: key \"a\" is there twice, first in line 1");
  EXPECT_EQ(error_of(R"([{"a": 1}, {"a": 1}])"), "no error");
}

TEST(Json, RefusesMoreLevelsThanItsLimit) {
  EXPECT_EQ(error_of(std::string(64, '[') + std::string(64, ']')), "no error");
  EXPECT_THAT(error_of(std::string(80000, '[')), HasSubstr("expected at most 64 levels"));
  std::string objects;
  for (int i = 0; i < 80000; ++i) objects += "{\"a\":";
  EXPECT_THAT(error_of(objects), HasSubstr("expected at most 64 levels"));
}

TEST(Json, RefusesMoreValuesThanItsLimit) {
  std::string many = "[0";
  for (int i = 0; i < 8'000'000; ++i) many += ",0";
  EXPECT_THAT(error_of(many + "]"),
              AllOf(HasSubstr("expected at most 8000000 values"), Not(HasSubstr("not JSON"))));
}

TEST(Json, TakesIntegersBeyondSixtyThreeBitsForNumbersOnly) {
  const InputDocument document = parse_json("[18446744073709551615]", "x");
  EXPECT_THROW(document.root().integers(0), InputError);
  EXPECT_EQ(document.root().list()[0].number(0, 1e20, ""), 0x1p64);
}

}  // namespace
}  // namespace moe::json_test
