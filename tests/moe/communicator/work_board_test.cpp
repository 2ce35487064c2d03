#include "moe/communicator/work_board.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace moe::work_board_test {
namespace {

TEST(WorkBoard, ShowsTheNotesOfRanksSinceTheLastLook) {
  WorkBoard board;
  EXPECT_TRUE(board.look().empty());
  WorkNotes third(2), first(0);
  third.note("plans after iteration 3");
  first.note(std::string(1000, 'x'));
  const auto notes = board.look();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].rank, 0);
  EXPECT_EQ(notes[0].what.substr(0, 3), "xxx");
  EXPECT_EQ(notes[1].rank, 2);
  EXPECT_EQ(notes[1].what, "plans after iteration 3");
  EXPECT_TRUE(board.look().empty());
  third.note("plans after iteration 3");  // still
  EXPECT_EQ(board.look().size(), 1u);
}

TEST(WorkBoard, NothingIsWrittenToAnotherFile) {
  const auto file = std::filesystem::path(testing::TempDir()) / "work_board_precious";
  std::ofstream(file) << "precious";
  setenv("OMPI_MOELAB_WORK", file.c_str(), 1);
  WorkNotes(0).note("plans");
  unsetenv("OMPI_MOELAB_WORK");
  WorkNotes(0).note("plans");
  std::string text;
  std::getline(std::ifstream(file), text);
  EXPECT_EQ(text, "precious");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace moe::work_board_test
