#include "moe/communicator/launch.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "moe/communicator/mpi_job.h"
#include "moe/errors.h"

namespace moe::launch_test {
namespace {

using testing::HasSubstr;

/// Sets variables for one test; this process is itself no MPI job.
class Launch : public testing::Test {
 protected:
  void SetUp() override {
    if (inside_mpi_job()) GTEST_SKIP() << "this test runs inside an MPI job";
  }
  void TearDown() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) {
      unsetenv(name);
    }
  }
  char program_[8] = "program", option_[8] = "--ranks", four_[2] = "4";
  char* argv_[4] = {program_, option_, four_, nullptr};
};

TEST_F(Launch, NoRanksOrOneIsThisProcessAlone) {
  EXPECT_EQ(join_world(std::nullopt, argv_)->size, 1);
  EXPECT_EQ(join_world(1, argv_)->size, 1);
}

/// They are set before any thread runs, and so before a device is opened.
TEST_F(Launch, SetsWhatTheLibrariesOfADeviceReadUnlessTheUserHas) {
  for (const char* name : {"CUDA_MODULE_LOADING", "NCCL_LAUNCH_ORDER_IMPLICIT"}) unsetenv(name);
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  join_world(1, argv_);
  EXPECT_STREQ(std::getenv("CUDA_MODULE_LOADING"), "LAZY");
  EXPECT_STREQ(std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT"), "1");
  unsetenv("CUDA_MODULE_LOADING");
  join_world(1, argv_);
  EXPECT_STREQ(std::getenv("CUDA_MODULE_LOADING"), "EAGER");
}

TEST_F(Launch, ALauncherNeedsANumberOfRanks) {
  EXPECT_THROW(join_world(std::nullopt, argv_, kDefaultStartLimit_s, {}, "", {.command = "srun"}),
               InputError);
  EXPECT_THROW(join_world(std::nullopt, argv_, kDefaultStartLimit_s, {}, "", {.hostfile = "hosts"}),
               InputError);
}

TEST_F(Launch, ALauncherWithAnOpenQuoteIsRefusedBeforeAnythingStarts) {
  if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  for (const char* command : {"touch \"launched", "touch 'launched", "touch $(echo launched"}) {
    EXPECT_THROW(join_world(2, argv_, kDefaultStartLimit_s, {}, "", {.command = command}),
                 InputError);
  }
}

TEST_F(Launch, AHostfileThatIsNotThereIsRefused) {
  if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  EXPECT_THROW(join_world(2, argv_, kDefaultStartLimit_s, {}, "", {.hostfile = "/nonexistent"}),
               InputError);
}

TEST_F(Launch, RanksMustBePositive) { EXPECT_THROW(join_world(0, argv_), InputError); }

TEST_F(Launch, JobOfAnotherSizeIsRefusedBeforeMpiStarts) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  try {
    join_world(4, argv_);
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--ranks 4, but this MPI job has 2 ranks"));
  }
}

TEST_F(Launch, MissingMpirunNamesThePackage) {
  if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  try {
    join_world(4, argv_);
    ADD_FAILURE() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("openmpi-bin"));
  }
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace moe::launch_test
