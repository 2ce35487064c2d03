#include "moe/communicator/launcher_words.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace moe::launcher_words_test {
namespace {

using Status = OutcomeStatus;

std::string mark() { return std::getenv("OMPI_MOELAB_LAUNCHER"); }

/// What is for others where the output comes in pieces of this many bytes.
std::string others(LauncherWords& words, const std::string& output, std::size_t piece) {
  std::string text;
  for (std::size_t at = 0; at < output.size(); at += piece) {
    text += words.keep(std::string_view(output).substr(at, piece));
  }
  return text + words.rest();
}

TEST(LauncherWords, AreTakenOutOfWhatRanksPrintHoweverItIsCut) {
  for (const std::size_t piece : {1, 2, 7, 50, 1000}) {
    LauncherWords words;
    const std::string output = "first\nhalf of a li" + mark() + "\nne\n" + mark() +
                               " outcome {\"status\":\"failed\",\"rank\":1}\n" + mark() +
                               " work 3 writes a file\nlast, without an end";
    EXPECT_EQ(others(words, output, piece), "first\nhalf of a line\nlast, without an end");
    EXPECT_TRUE(words.is_told());
    ASSERT_EQ(words.outcomes().size(), 1u);
    EXPECT_EQ(words.outcomes()[0], (Outcome{.status = Status::failed, .rank = 1}));
    const auto notes = words.look();
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].rank, 3);
    EXPECT_EQ(notes[0].what, "writes a file");
    EXPECT_TRUE(words.look().empty());
  }
}

// Another rank may fail and end the job before rank 0 has told.
TEST(LauncherWords, AnOutcomeTellsOfRanksToo) {
  LauncherWords words;
  words.keep(mark() + " outcome {\"status\":\"failed\",\"rank\":1}\n");
  EXPECT_TRUE(words.is_told());
}

TEST(LauncherWords, OtherOutputIsNotHeldBack) {
  LauncherWords words;
  EXPECT_EQ(words.keep("loss 5.2 ... "), "loss 5.2 ... ");
  EXPECT_EQ(words.keep("m"), "m");
  EXPECT_FALSE(words.is_told());
}

TEST(LauncherWords, OfALineThatIsCutOrOfNoSenseNothingIsHandedOn) {
  LauncherWords words;
  EXPECT_EQ(others(words, mark() + " outcome {\"sta\n" + mark() + " work x\n" + mark() + " wor", 9),
            "");
  EXPECT_TRUE(words.outcomes().empty());
  EXPECT_TRUE(words.look().empty());
}

/// What a rank in a process of its own prints for its launcher.
std::string printed(void (*rank)()) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    rank();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  for (char c = 0; read(ends[0], &c, 1) == 1;) text += c;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(LauncherWords, OfRanksArrive) {
  LauncherWords words;
  const std::string text = printed([] {
    if (!tell_launcher() || std::getenv("OMPI_MOELAB_LAUNCHER") != nullptr) _exit(1);
    tell_launcher_of({.status = Status::out_of_memory, .rank = 1, .bytes = 4096});
    tell_launcher_of({.status = Status::failed, .message = std::string(100'000, 'x')});
    tell_launcher_of({.status = Status::failed, .message = std::string(1000, '\x01')});
    tell_launcher_of_work(2, "plans after iteration 3");
  });
  EXPECT_EQ(words.keep(text), "");
  EXPECT_TRUE(words.is_told());
  ASSERT_EQ(words.outcomes().size(), 3u);
  EXPECT_EQ(words.outcomes()[0],
            (Outcome{.status = Status::out_of_memory, .rank = 1, .bytes = 4096}));
  EXPECT_EQ(words.outcomes()[1].status, Status::failed);
  EXPECT_EQ(words.look().at(0).what, "plans after iteration 3");
}

TEST(LauncherWords, ARankWithoutALauncherPrintsNone) {
  EXPECT_EQ(printed([] {
              if (tell_launcher() || tell_launcher_of({})) _exit(1);
              tell_launcher_of_work(0, "plans");
            }),
            "");
}

}  // namespace
}  // namespace moe::launcher_words_test
