#include "moe/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <new>

#include "db/error.h"
#include "moe/errors.h"
#include "moe/lost_output.h"
#include "moe/stop.h"

namespace moe::outcome_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = OutcomeStatus;

TEST(Outcome, IsOfTheErrorsTypeNotOfItsWords) {
  const auto status = [](const std::exception& error) { return outcome_of(error, 1).status; };
  EXPECT_EQ(status(OutOfMemory("")), Status::out_of_memory);
  EXPECT_EQ(status(std::bad_alloc()), Status::out_of_memory);
  EXPECT_EQ(status(TimeLimit("")), Status::time_limit);
  EXPECT_EQ(status(NotFinite("", {})), Status::not_finite);
  EXPECT_EQ(status(CommunicationError("")), Status::lost_rank);
  EXPECT_EQ(status(NotStarted("")), Status::not_started);
  EXPECT_EQ(status(Refusal("", "", "")), Status::refused);
  EXPECT_EQ(status(InputError("")), Status::refused);
  EXPECT_EQ(status(Stopped("", SIGTERM)), Status::killed);
  EXPECT_EQ(status(LostOutput("")), Status::lost_output);
  EXPECT_EQ(status(db::Error(db::ErrorKind::disk_full, "")), Status::lost_output);
  EXPECT_EQ(status(db::Error(db::ErrorKind::newer, "")), Status::refused);
  EXPECT_EQ(status(std::logic_error("out of memory")), Status::failed);
}

TEST(Outcome, SaysWhereAndHowMuch) {
  const Outcome outcome = outcome_of(OutOfMemory("too little", 4096, {"gate", 3, 2}), 0);
  EXPECT_EQ(outcome, (Outcome{Status::out_of_memory, 2, 3, 4096, {}, "too little"}));
  EXPECT_EQ(to_json(outcome),
            R"({"status":"out_of_memory","rank":2,"layer":3,"bytes":4096,"message":"too little"})");
  EXPECT_EQ(outcome_of(Stopped("", SIGTERM), {}).signal, SIGTERM);
}

TEST(Outcome, IsFoundAmongOtherLinesAndReadsBackAsItWas) {
  const Outcome outcome{Status::killed, 1, -1, 7, SIGINT, "line\n\"quoted\" \xff"};
  Outcome read = outcome;
  read.message = "line\n\"quoted\" \xef\xbf\xbd";
  EXPECT_EQ(find_outcome("iteration loss\n{\"loss\": 1}\n" + to_json(outcome) + "\n"), read);
  for (const char* text : {"", "done", "{\"status\": \"else\"}", "{\"status\": 3}", "[1]"}) {
    EXPECT_EQ(find_outcome(text), std::nullopt) << text;
  }
  EXPECT_EQ(find_outcome("{\"status\": \"done\", \"iteration_s\": 0.5}")->status, Status::done);
}

TEST(Outcome, OfAnExitCode) {
  EXPECT_EQ(outcome_of_exit(0).status, Status::done);
  EXPECT_EQ(outcome_of_exit(1).status, Status::failed);
  EXPECT_EQ(outcome_of_exit(2).status, Status::refused);
  EXPECT_EQ(outcome_of_exit(3).status, Status::out_of_memory);
  EXPECT_EQ(outcome_of_exit(124).status, Status::time_limit);
  const Outcome killed = outcome_of_exit(128 + SIGKILL);
  EXPECT_EQ(killed.status, Status::lost_rank);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_THAT(killed.message, HasSubstr("Killed"));
  const Outcome gone = outcome_of_exit(205);  // mpirun's, where a host is gone
  EXPECT_EQ(gone.status, Status::lost_node);
  EXPECT_EQ(gone.signal, std::nullopt);
  EXPECT_THAT(gone.message, HasSubstr("205"));
}

TEST(FirstCause, IsOfTheRankThatKnowsWhy) {
  const Outcome lost{.status = Status::lost_rank, .rank = 0, .message = "rank 1 gave up"};
  const Outcome memory{.status = Status::out_of_memory, .rank = 1};
  EXPECT_EQ(first_cause({lost, memory}, 3), memory);
  EXPECT_EQ(first_cause({lost}, 1), lost);
  EXPECT_EQ(first_cause({lost}, 128 + SIGKILL).signal, SIGKILL);
  EXPECT_EQ(first_cause({}, 3).status, Status::out_of_memory);
  EXPECT_EQ(first_cause({lost}, 205).status, Status::lost_node) << "its host went away too";
}

TEST(FirstCause, OfALostRankIsItsSignalNotTheOneThatEndsTheOthers) {
  const Outcome asked{.status = Status::killed, .rank = 0, .signal = SIGTERM};
  EXPECT_EQ(first_cause({asked}, 128 + SIGKILL).status, Status::lost_rank);
  EXPECT_EQ(first_cause({asked}, 128 + SIGKILL).signal, SIGKILL);
  EXPECT_EQ(first_cause({asked}, 128 + SIGTERM), asked);
  EXPECT_EQ(first_cause({asked}, 205).status, Status::lost_node);
  const Outcome told{.status = Status::killed, .rank = 0, .signal = SIGUSR1};
  EXPECT_EQ(first_cause({told}, 128 + SIGTERM), asked);
}

}  // namespace
}  // namespace moe::outcome_test
