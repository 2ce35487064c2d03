#include "moe/input/standard_input.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>

#include "moe/errors.h"
#include "moe/input/read_file.h"

namespace moe::standard_input_test {
namespace {

/// A pipe in the place of stdin, for one test.
class StandardInput : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    before_ = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    writes_ = ends[1];
  }
  void TearDown() override {
    end();
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  void put(const std::string& text) const {
    ASSERT_EQ(write(writes_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (writes_ >= 0) close(writes_);
    writes_ = -1;
  }
  int before_ = -1, writes_ = -1;
};

TEST_F(StandardInput, IsReadToItsEnd) {
  put("one\n");
  put(std::string("t\0o", 3));
  end();
  EXPECT_EQ(read_standard_input(), std::string("one\nt\0o", 7));
  EXPECT_EQ(read_standard_input(1e9), "");
}

TEST_F(StandardInput, ThatDoesNotEndIsATimeLimit) {
  put("the begin");
  try {
    read_standard_input(0.01);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TimeLimit& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("waited 0.01 s for stdin, which has not ended"));
  }
}

TEST_F(StandardInput, OfMoreBytesThanAFileMayHaveIsRefused) {
  std::thread writer([this] {
    const std::string piece(1 << 16, 'x');
    std::int64_t left = kMostTextBytes + 1;
    while (left > 0) {
      const ssize_t count = write(writes_, piece.data(),
                                  static_cast<std::size_t>(std::min<std::int64_t>(1 << 16, left)));
      if (count < 0) break;
      left -= count;
    }
    end();
  });
  EXPECT_THROW(read_standard_input(), InputError);
  writer.join();
}

TEST_F(StandardInput, ThatIsLeftIsEmpty) {
  put("not for this rank");
  leave_standard_input();
  EXPECT_EQ(read_standard_input(), "");
}

}  // namespace
}  // namespace moe::standard_input_test
