#include "moe/communicator/mpirun_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace moe::mpirun_files_test {
namespace {

namespace fs = std::filesystem;

/// Files as Open MPI lays them out, in folders of the test's own.
class MpirunFiles : public testing::Test {
 protected:
  void SetUp() override {
    top = fs::path(testing::TempDir()) / ("mpirun_files_" + std::to_string(getpid()));
    host = top / ("ompi.here." + std::to_string(geteuid()));
    shared = top / "shared";
    fs::create_directories(shared);
    setenv("OMPI_MCA_orte_tmpdir_base", top.c_str(), 1);
    setenv("OMPI_MCA_btl_vader_backing_directory", shared.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(top); }

  /// An mpirun with a job of two ranks; 0x12340000 is its own job.
  void lay_out(pid_t mpirun, const std::string& upper_half) const {
    fs::create_directories(folder(mpirun) / "1" / "0");
    for (const fs::path& own : {host, folder(mpirun)}) fs::permissions(own, fs::perms::owner_all);
    const auto number = std::stoul(upper_half + "0000", nullptr, 16);
    std::ofstream(folder(mpirun) / "contact.txt") << number << ".0;tcp://127.0.0.1:1\n4711\n";
    for (const char* rank : {"0", "1"}) std::ofstream(segment(upper_half, rank)) << "bytes";
  }
  fs::path folder(pid_t mpirun) const { return host / ("pid." + std::to_string(mpirun)); }
  fs::path segment(const std::string& upper_half, const std::string& rank) const {
    return shared /
           ("vader_segment.here." + std::to_string(geteuid()) + "." + upper_half + "0001." + rank);
  }

  fs::path top, host, shared;
};

/// A process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(MpirunFiles, OfAnMpirunOfOursAreRemovedWithItsSegmentsAlone) {
  const pid_t mpirun = ended_process();
  EXPECT_FALSE(mark_mpirun_files(mpirun));  // none yet
  lay_out(mpirun, "63da");
  lay_out(getpid(), "63db");
  EXPECT_TRUE(mark_mpirun_files(mpirun));
  remove_mpirun_files(mpirun);
  EXPECT_FALSE(fs::exists(folder(mpirun)));
  EXPECT_FALSE(fs::exists(segment("63da", "0")) || fs::exists(segment("63da", "1")));
  EXPECT_TRUE(fs::exists(folder(getpid())));
  EXPECT_TRUE(fs::exists(segment("63db", "0")) && fs::exists(segment("63db", "1")));
}

TEST_F(MpirunFiles, OfAnMpirunThatNobodyHasWaitedForAreRemovedToo) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  siginfo_t end{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(dead), &end, WEXITED | WNOWAIT), 0);
  lay_out(dead, "63da");
  ASSERT_TRUE(mark_mpirun_files(dead));
  remove_abandoned_mpirun_files();
  EXPECT_FALSE(fs::exists(folder(dead)));
  waitpid(dead, nullptr, 0);
}

TEST_F(MpirunFiles, ThatNoLauncherOfOursMarkedStay) {
  const pid_t mpirun = ended_process();
  lay_out(mpirun, "63da");
  remove_mpirun_files(mpirun);
  remove_abandoned_mpirun_files();
  EXPECT_TRUE(fs::exists(folder(mpirun)));
  EXPECT_TRUE(fs::exists(segment("63da", "0")));
}

TEST_F(MpirunFiles, OfAKilledLauncherAreRemovedOnceMpirunIsDeadToo) {
  const pid_t dead = ended_process();
  lay_out(dead, "63da");
  lay_out(getpid(), "1");
  ASSERT_TRUE(mark_mpirun_files(dead) && mark_mpirun_files(getpid()));
  remove_abandoned_mpirun_files();
  EXPECT_FALSE(fs::exists(folder(dead)) || fs::exists(segment("63da", "0")));
  EXPECT_TRUE(fs::exists(folder(getpid())) && fs::exists(segment("1", "0")));
  // Process ids of another machine or namespace say nothing here.
  lay_out(dead, "63da");
  std::ofstream(folder(dead) / "moelab") << "elsewhere\n";
  remove_abandoned_mpirun_files();
  EXPECT_TRUE(fs::exists(folder(dead)) && fs::exists(segment("63da", "0")));
}

TEST_F(MpirunFiles, BehindALinkAreNeitherMarkedNorRemoved) {
  const pid_t mpirun = ended_process();
  lay_out(mpirun, "63da");
  const std::string name = folder(mpirun).filename();
  // The folder of an mpirun is a link, and then that of the host.
  fs::rename(folder(mpirun), top / name);
  fs::create_directory_symlink(top / name, folder(mpirun));
  EXPECT_FALSE(mark_mpirun_files(mpirun));
  std::ofstream(top / name / "moelab") << "somebody's\n";
  remove_mpirun_files(mpirun);
  remove_abandoned_mpirun_files();
  EXPECT_TRUE(fs::exists(top / name / "contact.txt"));
  fs::remove(folder(mpirun));
  fs::rename(top / name, folder(mpirun));
  fs::rename(host, top / "elsewhere");
  fs::create_directory_symlink(top / "elsewhere", host);
  fs::remove(folder(mpirun) / "moelab");
  EXPECT_FALSE(mark_mpirun_files(mpirun));
  EXPECT_FALSE(fs::exists(folder(mpirun) / "moelab"));
}

TEST_F(MpirunFiles, AMarkThatIsALinkIsReplacedAndNotFollowed) {
  const pid_t mpirun = ended_process();
  lay_out(mpirun, "63da");
  std::ofstream(top / "precious") << "precious";
  fs::create_symlink(top / "precious", folder(mpirun) / "moelab");
  EXPECT_TRUE(mark_mpirun_files(mpirun));
  EXPECT_FALSE(fs::is_symlink(folder(mpirun) / "moelab"));
  std::string text;
  std::getline(std::ifstream(top / "precious"), text);
  EXPECT_EQ(text, "precious");
}

TEST_F(MpirunFiles, InAFolderThatOthersWriteToAreNotLookedInto) {
  const pid_t mpirun = ended_process();
  for (const bool is_host : {false, true}) {
    lay_out(mpirun, "63da");
    const fs::path open = is_host ? host : folder(mpirun);
    fs::permissions(open, fs::perms::all);
    EXPECT_FALSE(mark_mpirun_files(mpirun)) << open;
    fs::permissions(open, fs::perms::owner_all);
    ASSERT_TRUE(mark_mpirun_files(mpirun)) << open;
    fs::permissions(open, fs::perms::all);
    remove_mpirun_files(mpirun);
    EXPECT_TRUE(fs::exists(folder(mpirun) / "contact.txt")) << open;
    EXPECT_TRUE(fs::exists(segment("63da", "0"))) << open;
  }
}

TEST_F(MpirunFiles, SegmentsOfOthersStay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make another user's file";
  const pid_t mpirun = ended_process();
  lay_out(mpirun, "63da");
  ASSERT_EQ(chown(segment("63da", "1").c_str(), 65534, 65534), 0);
  ASSERT_TRUE(mark_mpirun_files(mpirun));
  remove_mpirun_files(mpirun);
  EXPECT_FALSE(fs::exists(segment("63da", "0")));
  EXPECT_TRUE(fs::exists(segment("63da", "1")));
}

}  // namespace
}  // namespace moe::mpirun_files_test
