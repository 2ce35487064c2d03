#include "moe/command/step_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "db/error.h"
#include "tests/db/temporary_directory.h"

namespace moe::step_log_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

class StepLogTest : public ::testing::Test {
 protected:
  db::TemporaryDirectory directory;
  std::string path = directory.file("log.jsonl");

  /// Writes the lines first..last; returns where the log stands after each.
  std::map<int, LogPlace> write(int first, int last,
                                const std::optional<LogResumed>& resumed = std::nullopt) {
    StepLog log(path, {16, std::nullopt}, resumed, 20);
    std::map<int, LogPlace> places;
    for (int i = first; i <= last; ++i) {
      StepReport step;
      step.iteration = i;
      step.loss = 1.0 / i;
      step.duration_s = ++written_ / 7.0;  // no two lines are alike
      log.write(step, "");
      places[i] = log.place().value();
    }
    return places;
  }
  std::vector<int> iterations() const {
    std::vector<int> all;
    std::istringstream text(db::read_file(path));
    for (std::string line; std::getline(text, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      all.push_back(json.is_object() ? json.value("iteration", 0) : -1);
    }
    return all;
  }
  /// By line, "resumed"; -1 where it has none.
  std::vector<int> resumed() const {
    std::vector<int> all;
    std::istringstream text(db::read_file(path));
    for (std::string line; std::getline(text, line);) {
      all.push_back(nlohmann::json::parse(line).value("resumed", -1));
    }
    return all;
  }

 private:
  int written_ = 0;
};

TEST_F(StepLogTest, NoIterationStandsTwiceAfterAResume) {
  const LogPlace place = write(1, 6).at(4);
  write(5, 7, LogResumed{4, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(resumed(), ElementsAre(-1, -1, -1, -1, 4, -1, -1));
}

TEST_F(StepLogTest, AnotherResumeFromTheSameCheckpointCutsAgain) {
  const LogPlace place = write(1, 6).at(4);
  write(5, 9, LogResumed{4, place});
  write(5, 5, LogResumed{4, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(StepLogTest, HalfALineAfterTheCheckpointIsCut) {
  const LogPlace place = write(1, 3).at(2);
  db::write_file(path, db::read_file(path) + R"({"iteration":4,"lo)");
  write(3, 4, LogResumed{2, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4));
}

TEST_F(StepLogTest, LinesOfOthersStay) {
  const LogPlace place = write(1, 3).at(2);
  const std::string text = db::read_file(path);
  db::write_file(path, text + "a note\n");
  write(3, 3, LogResumed{2, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, -1, 3)) << "something else was added";

  db::write_file(path, text);
  write(1, 2);  // another training
  write(3, 3, LogResumed{2, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(resumed().back(), 2);
}

TEST_F(StepLogTest, ALogThatTheCheckpointDoesNotKnowStays) {
  write(1, 6);
  write(5, 5, LogResumed{4, std::nullopt});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4, 5, 6, 5));
  EXPECT_THAT(resumed(), ElementsAre(-1, -1, -1, -1, -1, -1, 4));

  db::TemporaryDirectory other;
  const std::string here = path;
  path = other.file("other.jsonl");
  const LogPlace place = write(1, 6).at(4);
  path = here;
  db::write_file(path, "");
  write(1, 6);  // as long a log of another training
  write(5, 5, LogResumed{4, place});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4, 5, 6, 5));
}

TEST_F(StepLogTest, ATrainingThatBeginsAnewIsMarkedWhereThereAreLines) {
  write(1, 1, LogResumed{});
  EXPECT_THAT(resumed(), ElementsAre(-1));
  write(1, 1, LogResumed{});
  EXPECT_THAT(resumed(), ElementsAre(-1, 0));
}

TEST_F(StepLogTest, ATrainingThatBeginsAnewCutsItsOwnLinesAlone) {
  const std::string folder = directory.path();
  write(1, 3);  // another training
  note_log_begin(folder, write(1, 5).at(1));
  const std::string text = db::read_file(path);
  write(1, 2, LogResumed{0, noted_log_begin(folder)});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 1, 2));
  EXPECT_THAT(resumed(), ElementsAre(-1, -1, -1, 0, -1));

  db::write_file(path, text);
  forget_log_begin(folder);
  EXPECT_EQ(noted_log_begin(folder), std::nullopt);
  write(1, 1, LogResumed{0, noted_log_begin(folder)});
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 1)) << "nothing tells whose";

  db::write_file(path, "");
  note_log_begin(folder, write(1, 5).at(1));
  write(1, 2, LogResumed{0, noted_log_begin(folder)});
  EXPECT_THAT(resumed(), ElementsAre(-1, -1)) << "nothing was there before";
}

TEST_F(StepLogTest, LinesThatCouldNotBeWrittenAreNamed) {
  const LogPlace place = write(1, 4).at(4);
  db::write_file(path, db::read_file(path) + R"({"iteration":5,"lo)");  // the disk was full
  testing::internal::CaptureStdout();
  write(7, 8, LogResumed{6, place});
  EXPECT_THAT(
      testing::internal::GetCapturedStdout(),
      AllOf(HasSubstr("has no lines of iterations 5 to 6"), Not(HasSubstr("may have lines"))));
  EXPECT_THAT(iterations(), ElementsAre(1, 2, 3, 4, 7, 8));
}

TEST_F(StepLogTest, ALogThatIsTakenAwayIsAnErrorAndOneThatIsRenamedGoesOn) {
  StepLog log(path, {16, std::nullopt}, std::nullopt, 20);
  StepReport step;
  step.iteration = 1;
  log.write(step, "");
  const std::string moved = directory.file("log.1");
  std::filesystem::rename(path, moved);
  testing::internal::CaptureStdout();
  log.write(step, "");
  log.write(step, "");
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("has another name by now"));
  const LogPlace last = log.place().value();
  EXPECT_EQ(last.bytes, static_cast<std::int64_t>(db::read_file(moved).size()));
  std::filesystem::remove(moved);
  EXPECT_THAT([&] { log.write(step, ""); },
              ThrowsMessage<db::OutputError>(
                  path + ": was deleted or replaced while it was written: its lines are lost"));
  EXPECT_EQ(log.place(), last);
}

TEST_F(StepLogTest, ALineFollowsHalfALineOnItsOwn) {
  db::write_file(path, R"({"iteration":7,"lo)");
  write(1, 1);
  EXPECT_THAT(iterations(), ElementsAre(-1, 1));
}

TEST_F(StepLogTest, WhereNothingCanBeCutTheMarkTells) {
  testing::internal::CaptureStdout();
  StepLog log("-", {16, std::nullopt}, LogResumed{4, LogPlace{3, 5}}, 20);
  StepReport step;
  step.iteration = 5;
  log.write(step, "");
  EXPECT_EQ(log.place(), std::nullopt);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), StartsWith(R"({"iteration":5,"resumed":4,)"));
}

TEST_F(StepLogTest, TheProgramsOwnDatabaseIsRefusedBeforeThereIsOne) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    EXPECT_THROW(refuse_log(path + suffix, path), db::Error) << suffix;
  }
  EXPECT_NO_THROW(refuse_log("-", path));
  EXPECT_NO_THROW(refuse_log(directory.file("other"), path));
}

}  // namespace
}  // namespace moe::step_log_test
