#include "moe/communicator/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "moe/errors.h"

namespace moe::hostfile_test {
namespace {

std::optional<int> slots_of(const std::string& text) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("hostfile_test" + std::to_string(getpid()));
  std::ofstream(path) << text;
  const auto slots = slots_of_hostfile(path.string());
  std::filesystem::remove(path);
  return slots;
}

TEST(Hostfile, HasTheSlotsOfAllItsLines) {
  EXPECT_EQ(slots_of("# two nodes\nnode2 slots=2\n\nnode3 slots=1  # half of it\n"), 3);
  EXPECT_EQ(slots_of("node2 max_slots=8 slots = 4\nnode2 slots=4"), 8);
}

TEST(Hostfile, SaysNothingWhereALineDoesNotSayHowMany) {
  EXPECT_EQ(slots_of("node2 slots=2\nnode3\n"), std::nullopt) << "mpirun counts its cores";
}

std::string refusal_of(const std::string& text) {
  try {
    slots_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Hostfile, NamesTheLineThatIsNotPlainText) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal_of("\xEF\xBB\xBFnode2 slots=2\n"), HasSubstr(":1: begins with a byte order"));
  EXPECT_THAT(refusal_of("# two\nnode2 slots=2\r\n"), HasSubstr(":2: has a carriage return"));
  EXPECT_THAT(refusal_of("node2 slots=2\nnode3 slots=many\n"), HasSubstr(":2: slots=many"));
  EXPECT_THAT(refusal_of("node2 slots=2 slots=3\n"), HasSubstr(":1: slots=3: expected slots once"));
}

TEST(Hostfile, WithoutASlotIsRefused) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal_of("node2 slots=0\n"), HasSubstr("its hosts have no slot"));
  EXPECT_THAT(refusal_of("# none\n"), HasSubstr("names no host"));
}

TEST(Hostfile, ThatIsNotThereIsRefused) {
  EXPECT_THROW(slots_of_hostfile("/nonexistent/hosts"), InputError);
  EXPECT_THROW(slots_of_hostfile(testing::TempDir()), InputError) << "a folder";
}

}  // namespace
}  // namespace moe::hostfile_test
