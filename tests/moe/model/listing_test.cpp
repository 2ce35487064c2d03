#include "moe/model/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "moe/input/read_file.h"
#include "moe/model/gates/gates.h"

namespace moe::listing_test {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::vector<Listing>& listings) {
  std::string text;
  for (const Listing& one : listings) text += to_text(one);
  return text;
}

TEST(Listing, KeepsWithin80ColumnsAndUnderTheFirstWord) {
  const Listing listing{"gates", {{"a", "one two"}, {"longer", std::string(70, 'x') + " y z"}}};
  EXPECT_EQ(to_text(listing),
            "gates\n  a       one two\n  longer  " + std::string(70, 'x') + "\n          y z\n");
  std::istringstream all(text_of(listings_of_model()) + text_of(listings_of_keys()));
  for (std::string line; std::getline(all, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Listing, HasEveryGateAndTheKeysThatItDeclares) {
  const std::string gates_text = to_text(listings_of_model().front());
  const std::string keys = text_of(listings_of_keys());
  for (const Gate& gate : gates()) {
    EXPECT_THAT(gates_text, HasSubstr("\n  " + std::string(gate.name) + " "));
    EXPECT_FALSE(gate.description.empty()) << gate.name;
    for (const ModelKey& key : gate.keys) {
      EXPECT_THAT(keys, HasSubstr("\n  " + std::string(key.name) + " "));
    }
  }
  EXPECT_THAT(keys, HasSubstr("with positions = \"rotary\""));
}

TEST(Listing, OfTheKeysIsWhatThePageSays) {
  const std::string page = read_file(MOELAB_SOURCE_DIR "/moe/model/KEYS.md");
  EXPECT_THAT(page, HasSubstr("\n```\n" + text_of(listings_of_keys()) + "```\n"))
      << "put what `moe-train --list keys` prints into moe/model/KEYS.md";
}

}  // namespace
}  // namespace moe::listing_test
