#include "moe/input/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"

namespace moe::toml_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_toml(text, "x.toml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Toml, KeepsValuesAndTheLinesOfTheirKeys) {
  const InputDocument document = parse_toml("a = 1\n[t]\nb = [1, 2]\nc = \"x\"\nd = 0.5\n", "x");
  const InputObject root = document.object();
  EXPECT_EQ(root.integer("a", 0), 1);
  const InputObject table = root.object("t");
  EXPECT_THAT(table.member("b").integers(0), ElementsAre(1, 2));
  EXPECT_EQ(table.member("b").line(), 3);
  EXPECT_EQ(table.text("c"), "x");
  EXPECT_EQ(table.number("d", 0, 1, ""), 0.5);
  document.no_other_keys();
}

TEST(Toml, SaysTheLineOfASyntaxError) {
  EXPECT_THAT(error_of("a = 1\nb = = 2\n"), HasSubstr("x.toml:2: "));
  EXPECT_THAT(error_of("a = 1\na = 2\n"), HasSubstr("x.toml:2: "));
  EXPECT_THAT(error_of("a = \"\xFF\"\n"), HasSubstr("x.toml:1: "));
  EXPECT_THAT(error_of("a = 1\nb = 2020-01-01\n"), HasSubstr("x.toml:2: a date or a time"));
}

TEST(Toml, RefusesKeysOfTooManyParts) {
  EXPECT_EQ(error_of("a" + repeated(".a", 15) + " = 1"), "no error");
  const std::string deep = "a" + repeated(".a", 40000);
  const auto refused = HasSubstr(":2: expected keys of at most 16 parts");
  EXPECT_THAT(error_of("\n" + deep + " = 1"), refused);
  EXPECT_THAT(error_of("\n[" + deep + "]"), refused);
  EXPECT_THAT(error_of("\n[[" + deep + "]]"), refused);
  EXPECT_THAT(error_of("\nx = {" + deep + " = 1}"), refused);
  EXPECT_THAT(error_of("\n'a'" + repeated(" . \"b\"", 40000) + " = 1"), refused);
  // After a long string that ends with a quote of its own.
  EXPECT_THAT(error_of("\nx = [\"\"\"y\"\"\"\", {" + deep + " = 1}]"), refused);
}

TEST(Toml, RefusesTooManyBracketsWithinEachOther) {
  EXPECT_EQ(error_of("a = " + repeated("[", 32) + repeated("]", 32)), "no error");
  EXPECT_THAT(error_of("a = " + repeated("[", 80000)), HasSubstr("at most 32 brackets"));
  EXPECT_THAT(error_of("a = " + repeated("{a = ", 80000)), HasSubstr("at most 32 brackets"));
}

TEST(Toml, LeavesDotsAndBracketsOfTextsAndCommentsAlone) {
  const std::string harmless = repeated(".[{", 100);
  EXPECT_EQ(error_of("# it's " + harmless + "\na = \"\\\"" + harmless + "\"\nb = '" + harmless +
                     "'\nc = \"\"\"\n" + harmless + "\n\"\"\"\nd = '''\n" + harmless + "'''\n"),
            "no error");
  EXPECT_EQ(error_of("a = [" + repeated("1.5, ", 100) + "]"), "no error");
}

TEST(Toml, RefusesMoreThanAMiB) {
  EXPECT_THAT(error_of("# " + std::string(1 << 20, 'x')), HasSubstr("expected at most 1048576"));
}

}  // namespace
}  // namespace moe::toml_test
