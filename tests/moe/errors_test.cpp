#include "moe/errors.h"

#include <gtest/gtest.h>

#include <new>
#include <type_traits>

#include "db/error.h"
#include "moe/stop.h"

namespace moe::errors_test {
namespace {

TEST(Errors, WhatAUserCanMendIs2) {
  EXPECT_EQ(exit_code(InputError("")), 2);
  EXPECT_EQ(exit_code(Unavailable("")), 2);
  EXPECT_EQ(exit_code(Refusal("", "", "")), 2);
  EXPECT_EQ(moe::exit_code(db::Error(db::ErrorKind::not_found, "")), 2);
  EXPECT_EQ(moe::exit_code(db::Error(db::ErrorKind::sql, "")), 2);
}

TEST(Errors, WhatFailedUnderWayIs1) {
  EXPECT_EQ(exit_code(CudaError("")), 1);
  EXPECT_EQ(exit_code(CommunicationError("")), 1);
  EXPECT_EQ(exit_code(NotFinite("", {})), 1);
  EXPECT_EQ(exit_code(std::logic_error("")), 1);
  EXPECT_EQ(exit_code(std::invalid_argument("")), 1);
  EXPECT_EQ(exit_code(std::exception()), 1);
  EXPECT_EQ(moe::exit_code(db::Error(db::ErrorKind::locked, "")), 1);
  EXPECT_EQ(moe::exit_code(db::Error(db::ErrorKind::gone, "")), 1);
}

TEST(Errors, ARefusalIsOneSentenceOfTheSubjectTheReasonAndTheWayOut) {
  const Refusal refusal("order: two chunks", "there is one row", "expected one chunk", {"gate", 3});
  EXPECT_STREQ(refusal.what(), "order: two chunks: there is one row: expected one chunk");
  EXPECT_EQ(refusal.way_out, "expected one chunk");
  EXPECT_EQ(refusal.where, (Where{"gate", 3, std::nullopt}));
  EXPECT_STREQ(Refusal("", "no rows", "").what(), "no rows");

  const Refusal outer = within("a.json", refusal);
  EXPECT_STREQ(outer.what(), "a.json: order: two chunks: there is one row: expected one chunk");
  EXPECT_EQ(outer.way_out, refusal.way_out);
  EXPECT_EQ(outer.where, refusal.where);
}

TEST(Errors, ARefusalIsNoBrokenContract) {
  EXPECT_FALSE((std::is_base_of_v<std::logic_error, Refusal>));
}

TEST(Errors, MemoryThatRunsOutIs3) {
  EXPECT_EQ(exit_code(OutOfMemory("")), 3);
  EXPECT_EQ(exit_code(std::bad_alloc()), 3);
}

TEST(Errors, ATimeLimitIs124AndASignal128More) {
  EXPECT_EQ(exit_code(TimeLimit("")), 124);
  EXPECT_EQ(exit_code(Stopped("", 2)), 130);
  EXPECT_EQ(exit_code(Interrupted("", 15)), 143);
}

}  // namespace
}  // namespace moe::errors_test
