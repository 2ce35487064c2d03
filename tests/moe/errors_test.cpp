#include "moe/errors.h"

#include <gtest/gtest.h>

#include "db/error.h"
#include "moe/stop.h"

namespace moe {
namespace {

TEST(Errors, WhatAUserCanMendIs2) {
  EXPECT_EQ(exit_code(InputError("")), 2);
  EXPECT_EQ(exit_code(Unavailable("")), 2);
  EXPECT_EQ(exit_code(std::invalid_argument("")), 2);
  EXPECT_EQ(exit_code(db::Error(db::ErrorKind::not_found, "")), 2);
  EXPECT_EQ(exit_code(db::Error(db::ErrorKind::sql, "")), 2);
}

TEST(Errors, WhatFailedUnderWayIs1) {
  EXPECT_EQ(exit_code(OutOfMemory("")), 1);
  EXPECT_EQ(exit_code(CudaError("")), 1);
  EXPECT_EQ(exit_code(CommunicationError("")), 1);
  EXPECT_EQ(exit_code(NotFinite("")), 1);
  EXPECT_EQ(exit_code(std::logic_error("")), 1);
  EXPECT_EQ(exit_code(std::exception()), 1);
  EXPECT_EQ(exit_code(db::Error(db::ErrorKind::locked, "")), 1);
  EXPECT_EQ(exit_code(db::Error(db::ErrorKind::gone, "")), 1);
}

TEST(Errors, ATimeLimitIs124AndASignal128More) {
  EXPECT_EQ(exit_code(TimeLimit("")), 124);
  EXPECT_EQ(exit_code(Stopped("", 2)), 130);
}

}  // namespace
}  // namespace moe
