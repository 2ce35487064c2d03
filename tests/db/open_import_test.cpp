#include "db/open_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "db/error.h"
#include "temporary_directory.h"
#include "tests/db/refusal.h"

namespace db {
namespace {

using namespace std::string_view_literals;
using ::testing::HasSubstr;

struct OpenImport : ::testing::Test {
  TemporaryDirectory directory;

  std::string file_of(std::string_view bytes) const {
    const std::string path = directory.file("log.txt");
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string refusal(std::string_view bytes) const {
    return refusal_of([&] { open_import(file_of(bytes)); });
  }
};

TEST_F(OpenImport, BeginsBehindTheMarkOfUtf8) {
  for (const std::string_view begin : {""sv, "\xef\xbb\xbf"sv}) {
    std::ifstream file = open_import(file_of(std::string(begin) + "one\ntwo\n"));
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "one");
  }
  std::ifstream file = open_import(file_of("a"));
  EXPECT_EQ(file.get(), 'a');
}

TEST_F(OpenImport, RefusesWhatIsNoTextOfBytes) {
  EXPECT_THAT(refusal("\xff\xfe#\0 \0"sv), HasSubstr("log.txt: is UTF-16 text: expected"));
  EXPECT_THAT(refusal("#\0 \0n\0"sv), HasSubstr("is a binary or compressed file, or UTF-16 text"));
  EXPECT_THAT(refusal("\x1f\x8b\x08\x01"sv), HasSubstr("is a binary or compressed file"));
  EXPECT_THROW(open_import(directory.path()), Error);
}

}  // namespace
}  // namespace db
