#include "moe/memory_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace moe::memory_text_test {
namespace {

std::string read_all(int file) {
  std::string text;
  for (char c = 0; read(file, &c, 1) == 1;) text += c;
  return text;
}

TEST(MemoryText, IsReadFromItsBegin) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(read_all(MemoryText(text).file()), text);
  EXPECT_EQ(read_all(MemoryText("").file()), "");
}

}  // namespace
}  // namespace moe::memory_text_test
