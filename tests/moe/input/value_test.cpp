#include "moe/input/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/toml.h"

namespace moe::value_test {
namespace {

using testing::HasSubstr;

template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string chunks_error(const std::string& value) {
  return error_of([&] {
    const InputDocument document = parse_json("{\n\"chunks\": " + value + "}", "s.json");
    document.object().integer("chunks", 1, 64);
  });
}

TEST(InputValue, TakesIntegersForIntegersOnly) {
  EXPECT_EQ(chunks_error("64"), "no error");
  EXPECT_EQ(chunks_error("4294967298"),
            "s.json:2: chunks: expected an integer from 1 to 64, got 4294967298");
  EXPECT_EQ(chunks_error("2.9"), "s.json:2: chunks: expected an integer from 1 to 64, got 2.9");
  EXPECT_EQ(chunks_error("2.0"), "s.json:2: chunks: expected an integer from 1 to 64, got 2.0");
  EXPECT_EQ(chunks_error("true"), "s.json:2: chunks: expected an integer from 1 to 64, got true");
  EXPECT_EQ(chunks_error("\"2\""), "s.json:2: chunks: expected an integer from 1 to 64, got \"2\"");
  EXPECT_EQ(chunks_error("null"), "s.json:2: chunks: expected an integer from 1 to 64, got null");
  EXPECT_EQ(chunks_error("[2]"),
            "s.json:2: chunks: expected an integer from 1 to 64, got a list of 1");
  EXPECT_EQ(chunks_error("{}"),
            "s.json:2: chunks: expected an integer from 1 to 64, got an object");
  EXPECT_EQ(chunks_error("0"), "s.json:2: chunks: expected an integer from 1 to 64, got 0");
}

TEST(InputValue, CutsWhatIsLong) {
  EXPECT_LT(chunks_error("1" + std::string(300, '0')).size(), 100u);
  EXPECT_LT(chunks_error("\"" + std::string(3000, 'x') + "\"").size(), 120u);
}

TEST(InputValue, TakesNoNaNForANumber) {
  const auto momentum = [](const std::string& value) {
    return error_of([&] {
      const InputDocument document = parse_toml("momentum = " + value, "m.toml");
      document.object().number("momentum", 0, 1, "a number from 0 to 1");
    });
  };
  EXPECT_EQ(momentum("1"), "no error");
  EXPECT_EQ(momentum("nan"), "m.toml:1: momentum: expected a number from 0 to 1, got nan");
  EXPECT_EQ(momentum("-inf"), "m.toml:1: momentum: expected a number from 0 to 1, got -inf");
  EXPECT_EQ(momentum("1e300"), "m.toml:1: momentum: expected a number from 0 to 1, got 1e+300");
}

TEST(InputValue, IsOneOfItsChoices) {
  const InputDocument document = parse_toml("device = \"tpu\"\ndtype = \"f64\"", "c.toml");
  EXPECT_EQ(document.object().member("dtype").one_of({"f32", "f64"}), 1u);
  EXPECT_EQ(error_of([&] {
              document.object().member("device").one_of({"cpu", "cuda"});
            }),
            "c.toml:1: device: expected one of \"cpu\", \"cuda\", got \"tpu\"");
}

TEST(InputValue, IsBytesWithASuffixOrWithout) {
  const InputDocument document = parse_toml("a = 5\nb = \"2K\"\nc = -1\nd = \"2X\"", "c.toml");
  const InputObject root = document.object();
  EXPECT_EQ(root.member("a").bytes(), 5);
  EXPECT_EQ(root.member("b").bytes(), 2048);
  EXPECT_THAT(error_of([&] { root.member("c").bytes(); }), HasSubstr("c: expected bytes"));
  EXPECT_THAT(error_of([&] { root.member("d").bytes(); }), HasSubstr("got \"2X\""));
}

TEST(InputValue, NamesThePlaceInAList) {
  const InputDocument document =
      parse_json("{\"layers\": [{\"tokens\": [[1, 2],\n [3, -4]]}]}", "r.json");
  const InputValue tokens = document.object().list("layers")[0].object().member("tokens");
  EXPECT_EQ(error_of([&] { tokens.list()[1].integers(0); }),
            "r.json:2: layers[0].tokens[1][1]: expected an integer of at least 0, got -4");
}

TEST(InputObject, SaysWhatIsMissingAndWhatLooksLikeIt) {
  const InputDocument document = parse_toml("[model]\nd_hiden = 3\nheads = 2\n", "m.toml");
  EXPECT_EQ(error_of([&] { document.object().object("model").integer("d_hidden", 1, 9); }),
            "m.toml:1: model.d_hidden: missing; expected an integer from 1 to 9; line 2 has "
            "d_hiden");
  EXPECT_EQ(error_of([&] { document.object().object("model").integer("blocks", 1, 9); }),
            "m.toml:1: model.blocks: missing; expected an integer from 1 to 9");
}

TEST(InputDocument, ListsNoMoreKnownKeysThanAMessageHasRoomFor) {
  const InputDocument document = parse_toml("[a]\nlater = 2\n", "m.toml");
  const InputObject a = document.object().object("a");
  for (int i = 0; i < 100; ++i) a.has("a_key_of_many_" + std::to_string(i));
  const std::string error = error_of([&] { document.no_other_keys(); });
  EXPECT_LT(error.size(), 650u);
  EXPECT_NE(error.find(", ... (100 in all)"), std::string::npos) << error;
}

TEST(InputDocument, RefusesAKeyThatNobodyAskedFor) {
  const InputDocument document =
      parse_toml("[a]\nheads = 2\n[b]\nheads = 1\ntlies = 3\n", "m.toml");
  document.object().object("a").integer("heads", 1);
  const InputObject b = document.object().object("b");
  EXPECT_FALSE(b.has("tails"));
  EXPECT_EQ(error_of([&] { document.no_other_keys(); }),
            "m.toml:4: b.heads: unknown key: it belongs in [a]");
  b.integer("heads", 1);
  EXPECT_EQ(error_of([&] { document.no_other_keys(); }),
            "m.toml:5: b.tlies: unknown key; is tails meant? Known are heads, tails");
  EXPECT_TRUE(b.has("tlies"));
  EXPECT_EQ(error_of([&] { document.no_other_keys(); }), "no error");
}

TEST(InputDocument, RefusesAKeyOfOneEntryThatOnlyAnotherEntryMayHave) {
  const InputDocument document = parse_json(R"([{"a": 1}, {"a": 1}])", "s.json");
  document.root().list()[0].object().integer("a", 0);
  EXPECT_THAT(error_of([&] { document.no_other_keys(); }), HasSubstr("s.json:1: [1].a: unknown"));
}

}  // namespace
}  // namespace moe::value_test
