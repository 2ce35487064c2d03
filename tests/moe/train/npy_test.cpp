#include "moe/train/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/moe/train/written_files.h"

namespace moe::npy_test {
namespace {

using namespace written_files;
using testing::HasSubstr;

/// As numpy.save writes an array of `bytes`.
std::string array(const std::string& descr, const std::string& shape, std::size_t bytes,
                  char version = 1) {
  const std::string header =
      "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }   \n";
  std::string length{static_cast<char>(header.size()), '\0'};
  if (version > 1) length += std::string(2, '\0');
  return "\x93NUMPY" + std::string{version, '\0'} + length + header + std::string(bytes, 'x');
}

NpyHeader read(const std::string& bytes) { return read_npy_header("a.npy", bytes_of_text(bytes)); }
std::string refused(const std::string& bytes) {
  return input_error([&] { read(bytes); });
}

TEST(Npy, OfOneDimensionIsReadInEveryTypeOfTokens) {
  struct Case {
    std::string descr;
    TokenType type;
    std::size_t bytes;
  };
  for (const Case& one : {Case{"'|u1'", TokenType::uint8, 1}, Case{"'<u2'", TokenType::uint16, 2},
                          Case{"'<u4'", TokenType::uint32, 4}, Case{"'<i4'", TokenType::int32, 4},
                          Case{"'<i8'", TokenType::int64, 8}}) {
    for (const char version : {'\1', '\2', '\3'}) {
      const std::string bytes = array(one.descr, "(50,)", 50 * one.bytes, version);
      const NpyHeader header = read(bytes);
      EXPECT_EQ(header.type, one.type) << one.descr;
      EXPECT_EQ(header.tokens, 50) << one.descr;
      EXPECT_EQ(bytes.substr(header.first_byte), std::string(50 * one.bytes, 'x')) << one.descr;
    }
  }
  EXPECT_EQ(read(array("'<u2'", "(0,)", 0)).tokens, 0);
}

TEST(Npy, OfOtherArraysIsRefusedWithItsValues) {
  for (const char* descr : {"'>u2'", "'<f4'", "'<i2'", "'<u8'", "'|O'", "[('a', '<u2')]"}) {
    EXPECT_THAT(refused(array(descr, "(50,)", 100)), HasSubstr("a.npy: an array of type "))
        << descr;
  }
  EXPECT_THAT(refused(array("'>u2'", "(50,)", 100)),
              HasSubstr(">u2: expected |u1, <u2, <u4, <i4 or <i8"));
  EXPECT_THAT(refused(array("'<u2'", "(5, 10)", 100)),
              HasSubstr("a.npy: an array of shape (5, 10): expected one dimension"));
  EXPECT_THAT(refused(array("'<u2'", "()", 2)), HasSubstr("an array of shape ():"));
  EXPECT_THAT(refused(array("'<u2'", "(-5,)", 2)), HasSubstr("an array of shape (-5,):"));
  EXPECT_THAT(refused(array("'<u2'", "(50,)", 99)), HasSubstr(" bytes: expected 1"));
  EXPECT_THAT(refused(array("'<u2'", "(50,)", 101)), HasSubstr("for the 50 tokens of type <u2"));
  EXPECT_THAT(refused(array("'<u2'", "(50,)", 100, 4)), HasSubstr("in version 4 of the format"));
  EXPECT_THAT(refused(array("'<u2'", "(50,)", 100).substr(0, 40)),
              HasSubstr("a.npy: 40 bytes: is cut short in a header of "));
  EXPECT_THAT(refused("\x93NUMPY"), HasSubstr("a.npy: 6 bytes: is cut short"));
}

}  // namespace
}  // namespace moe::npy_test
