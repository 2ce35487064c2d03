#include "moe/train/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/moe/train/packed_by_gzip.h"
#include "tests/moe/train/written_files.h"

namespace moe::gzip_test {
namespace {

using namespace written_files;
using testing::HasSubstr;

std::string content(const std::string& packed) {
  return text_of_bytes(unpacked("a.gz", bytes_of_text(packed)));
}

TEST(Gzip, OfOneMemberOrSeveralIsUnpackedWhole) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i * 7919 % 100'003) + ' ';
  EXPECT_EQ(content(packed_by_gzip(text)), text);
  EXPECT_EQ(content(packed_by_gzip(text) + packed_by_gzip("") + packed_by_gzip("more")),
            text + "more");
  EXPECT_EQ(content(packed_by_gzip("")), "");
}

TEST(Gzip, ThatIsCutShortOrDamagedIsRefused) {
  const std::string text(100'000, 'a'), packed = packed_by_gzip(text + "b" + text);
  const auto refused = [](const std::string& bytes) {
    return input_error([&] { content(bytes); });
  };
  for (const std::size_t left : {std::size_t{11}, packed.size() / 2, packed.size() - 1}) {
    EXPECT_THAT(refused(packed.substr(0, left)),
                HasSubstr("a.gz: " + std::to_string(left) + " bytes: is cut short, after "));
  }
  std::string damaged = packed;
  damaged[damaged.size() - 7] ^= 1;  // of the checksum
  EXPECT_THAT(refused(damaged), HasSubstr("a.gz: is damaged at byte "));
  EXPECT_THAT(refused(packed + "no gzip"), HasSubstr("a.gz: is damaged at byte "));
}

}  // namespace
}  // namespace moe::gzip_test
