#include "tuner/study/study_outcome.h"

#include <gtest/gtest.h>

#include "tuner/study/training_job.h"

namespace tuner::study_outcome_test {
namespace {

db::Trial trial(const std::string& planner, const std::string& status) {
  db::Trial one;
  one.planner = planner;
  one.status = status;
  one.error = "why";
  if (is_no_verdict(status)) {
    one.status = "planned";
    one.failure = status;
  } else if (status != "done" && status != "planned") {
    one.failure = status;
  }
  return one;
}

TEST(StudyOutcome, IsAFailureWhereNothingWasMeasured) {
  EXPECT_EQ(why_nothing_compares({trial("sequential", "hung"), trial("tutel", "hung"),
                                  trial("fsmoe", "crashed"), trial("joint", "planned")}),
            "no trial was measured: 1 crashed, 2 hung, 1 planned");
  EXPECT_EQ(why_nothing_compares({}), "no trial was measured: there is none");
}

TEST(StudyOutcome, IsAFailureWhereTheBaselineFailed) {
  for (const char* status : {"hung", "crashed", "failed", db::kNotStarted, db::kLostNode}) {
    EXPECT_EQ(why_nothing_compares({trial("sequential", status), trial("tutel", "done")}),
              "the sequential schedule, which all others are compared with, " +
                  std::string(status) + ": why");
  }
}

TEST(StudyOutcome, IsNoneWhereTrialsAreCompared) {
  EXPECT_EQ(why_nothing_compares({trial("sequential", "done"), trial("tutel", "hung")}), "");
  for (const char* status : {"infeasible", "out_of_memory"}) {
    EXPECT_EQ(why_nothing_compares({trial("sequential", status), trial("tutel", "done")}), "")
        << "then the fastest is what others are compared with";
  }
}

}  // namespace
}  // namespace tuner::study_outcome_test
