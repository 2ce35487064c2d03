#include "tuner/study/open_study.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/study_situation.h"

namespace tuner::open_study_test {
namespace {

using OpenStudyTest = StudyTest;

TEST_F(OpenStudyTest, LeavesRunsOfOtherStudiesOnOtherComputersAlone) {
  StudyOptions o = options(), another = options("another");
  const StudySituation planned(o);
  db::Connection connection = db::open_writer(database);
  { OpenStudy(connection, o, planned.groups, planned.given).finish("done"); }
  const std::int64_t elsewhere =
      OpenStudy(connection, another, planned.groups, planned.given).run_id;
  // It runs on a computer whose clock is wrong by an hour.
  connection.database().exec(
      "INSERT INTO machine SELECT NULL, 'elsewhere', 'node9', os, cpu, cores, memory_bytes, gpu, "
      "gpu_count, libraries_json FROM machine LIMIT 1");
  connection.database().exec(
      "UPDATE run SET machine_id = (SELECT max(id) FROM machine), heartbeat_at = heartbeat_at - "
      "3600 WHERE name = 'another'");
  StudyOptions again = o;
  again.resume = true;
  const OpenStudy resumed(connection, again, planned.groups, planned.given);
  EXPECT_EQ(db::load_run(connection, elsewhere).status, "running");
}

}  // namespace
}  // namespace tuner::open_study_test
