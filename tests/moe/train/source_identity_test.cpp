#include "moe/train/source_identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace moe::source_identity_test {
namespace {

class SourceIdentity : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// The identity of a file of this name with this text.
  std::uint64_t identity(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
    const Corpus corpus = open_corpus({directory_ / name}, {.sequence_length = 4});
    return identity_of(corpus.sources.front(), corpus.vocabulary);
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / "moelab-source-identity";
};

TEST_F(SourceIdentity, IsThatOfTheTextAndNotOfItsName) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += static_cast<char>('a' + i * 7 % 23 + i / 1000 % 3);
  const std::uint64_t whole = identity("a", text);
  EXPECT_NE(whole, 0u);
  EXPECT_EQ(identity("b", text), whole);
  std::set<std::uint64_t> others{whole};
  EXPECT_TRUE(others.insert(identity("a", text + "x")).second) << "longer";
  EXPECT_TRUE(others.insert(identity("a", text.substr(1))).second) << "without its first token";
  for (const std::size_t changed : {std::size_t{0}, text.size() - 1}) {
    std::string other = text;
    other[changed] = 'Z';
    EXPECT_TRUE(others.insert(identity("a", other)).second) << changed;
  }
}

TEST_F(SourceIdentity, OfAShortTextDependsOnEveryToken) {
  const std::string text(10'000, 'a');
  const std::uint64_t whole = identity("a", text);
  for (std::size_t changed = 0; changed < text.size(); changed += 499) {
    std::string other = text;
    other[changed] = 'b';
    EXPECT_NE(identity("a", other), whole) << changed;
  }
}

}  // namespace
}  // namespace moe::source_identity_test
