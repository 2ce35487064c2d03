#include "tuner/study/signs_of_life.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "db/error.h"
#include "moe/errors.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/open_study.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/study_situation.h"

namespace tuner::signs_of_life_test {
namespace {

using ::testing::HasSubstr;

constexpr double kSoon_s = 0.01;
/// Long enough for a sign to come on a slow machine.
constexpr OwnerWatch kLongWatch{60, 60, 0.01};

struct SignsOfLifeTest : StudyTest {
  StudyOptions asked = options();
  StudySituation planned{asked};
  db::Connection connection = db::open_writer(database_in_folder());
  OpenStudy open{connection, asked, planned.groups, planned.given, {.sign_s = kSoon_s}};

  /// The folder is made before the members that need it.
  const std::string& database_in_folder() const {
    std::filesystem::create_directories(directory);
    return database;
  }
  double sign() const { return db::load_run(connection, open.run_id).heartbeat_at; }
  static void wait_until(const std::function<bool()>& is_true) {
    while (!is_true()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

/// Whether a process of another computer may take a study over, which it tries for a minute.
bool may_be_taken_over(const std::string& database, const std::string& study) {
  db::Connection other = db::open_writer(database);
  try {
    claim_study(
        other, study, "node9", kLongWatch, [](const auto&) {}, [] {});
    return true;
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is being run by process"));
    return false;
  }
}

TEST_F(SignsOfLifeTest, AreGivenWhateverTheProcessDoes) {
  EXPECT_FALSE(may_be_taken_over(database, asked.name));
  EXPECT_NO_THROW(open.go_on());
}

TEST_F(SignsOfLifeTest, GoOnAfterOthersHaveKeptTheDatabaseLocked) {
  db::Connection other = db::open_writer(database);
  other.database().exec("BEGIN IMMEDIATE");
  const double before = sign();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // a sign waits for a second
  EXPECT_NO_THROW(open.check_owner());
  EXPECT_EQ(sign(), before);
  other.database().exec("COMMIT");
  wait_until([&] { return sign() > before; });
  EXPECT_NO_THROW(open.check_owner());
}

TEST_F(SignsOfLifeTest, EndWhereTheStudyIsTakenOver) {
  connection.database().exec("INSERT INTO run SELECT (SELECT max(id) + 1 FROM run), " + [&] {
    std::string columns;
    SQLite::Statement names(connection.database(),
                            "SELECT group_concat('\"' || name || '\"') FROM "
                            "pragma_table_info('run') WHERE name <> 'id'");
    names.executeStep();
    return names.getColumn(0).getString();
  }() + " FROM run");
  const double before = sign();
  EXPECT_THROW(open.check_owner(), TakenOver);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(sign(), before);
}

TEST_F(SignsOfLifeTest, OfADatabaseThatIsGoneAreTold) {
  std::filesystem::remove(database);
  try {
    wait_until([&] {
      open.check_owner();
      return false;
    });
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::gone) << error.what();
  }
}

TEST_F(SignsOfLifeTest, EndWithTheStudy) {
  open.finish("done");
  const double before = sign();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(sign(), before);
}

/// The planner tutel, which does not end before others have tried to take the study over.
struct SlowPlanner : StudyTest {
  static inline std::string study_database;
  static inline int tried = 0, taken = 0;

  static Planner planner() {
    Planner slow = planner_named("tutel");
    slow.candidates = [](const Situation& situation, const PlannerOptions& options) {
      ++tried;
      taken += may_be_taken_over(study_database, "s") ? 1 : 0;
      return planner_named("tutel").candidates(situation, options);
    };
    return slow;
  }
};

TEST_F(SlowPlanner, LeavesTheStudyToItsOwner) {
  study_database = database;
  const Planner slow = planner();
  StudyOptions o = options();
  o.planners = {{&slow, {}}};
  o.repeats = 1;
  run_study(o);
  EXPECT_EQ(tried, 1);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(trials().front().status, "done");
}

}  // namespace
}  // namespace tuner::signs_of_life_test
