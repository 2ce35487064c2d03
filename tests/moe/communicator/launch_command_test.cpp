#include "moe/communicator/launch_command.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "moe/errors.h"

namespace moe::launch_command_test {
namespace {

using testing::ElementsAre;

struct LaunchCommand : testing::Test {
  char program_[8] = "program", option_[8] = "--ranks", four_[2] = "4";
  char* argv_[4] = {program_, option_, four_, nullptr};
};

TEST_F(LaunchCommand, MpirunGetsTheSameArguments) {
  EXPECT_THAT(launch_command(4, {}, argv_),
              ElementsAre("mpirun", "-np", "4", "program", "--ranks", "4"));
  EXPECT_THAT(launch_command(4, {.hostfile = "hosts"}, argv_),
              ElementsAre("mpirun", "-np", "4", "--hostfile", "hosts", "program", "--ranks", "4"));
}

TEST_F(LaunchCommand, ALauncherIsAShellsAndGetsTheNumberOfRanks) {
  EXPECT_THAT(launch_command(4, {.command = "srun -n {ranks} --name '{ranks} ranks'"}, argv_),
              ElementsAre("/bin/sh", "-c", "exec srun -n 4 --name '4 ranks' \"$@\"", "sh",
                          "program", "--ranks", "4"));
}

TEST_F(LaunchCommand, ALauncherStartsOneRankToo) {
  EXPECT_FALSE(starts_ranks(std::nullopt, {}));
  EXPECT_FALSE(starts_ranks(1, {}));
  EXPECT_TRUE(starts_ranks(2, {}));
  EXPECT_TRUE(starts_ranks(1, {.command = "srun"}));
  EXPECT_TRUE(starts_ranks(1, {.hostfile = "hosts"}));
}

TEST_F(LaunchCommand, NamesTheProgramByAPathThatOtherHostsHaveToo) {
  char typed[] = "true", relative[] = "./true";
  char* found[] = {typed, nullptr};
  const std::string path = launch_command(2, {}, found).back();
  EXPECT_EQ(path.front(), '/') << "mpirun on another host has another PATH: " << path;
  EXPECT_THAT(path, testing::EndsWith("/true"));
  char* named[] = {relative, nullptr};
  EXPECT_EQ(launch_command(2, {}, named).back(), "./true") << "it goes into the same folder";
}

TEST_F(LaunchCommand, OfAHostfileLeavesSlotsToIt) {
  const std::string hosts =
      (std::filesystem::path(testing::TempDir()) / "launch_command_hosts").string();
  EXPECT_THROW(prepare_launch(2, {.hostfile = hosts + ".not"}), InputError);
  unsetenv("OMPI_MCA_rmaps_base_oversubscribe");
  prepare_launch(2, {.command = "srun"});
  EXPECT_EQ(std::getenv("OMPI_MCA_rmaps_base_oversubscribe"), nullptr);
}

}  // namespace
}  // namespace moe::launch_command_test
