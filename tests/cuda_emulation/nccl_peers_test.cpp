// Ranks that do not come, abort or die, and ranks that are processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "nccl_member.h"

namespace moelab::cuda_emulation::nccl_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(EmulatedNccl, NamesTheRankThatDoesNotCome) {
  const Variable limit("MOELAB_EMULATED_NCCL_LIMIT_S", "0.3");
  const auto texts = failures(3, [](Member& m) {
    std::byte* const data = m.memory(4);
    if (m.rank == 1) {
      ncclResult_t state = ncclSuccess;
      while (state == ncclSuccess) ncclCommGetAsyncError(m.comm, &state);
    } else {
      m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream));
    }
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, AllOf(HasSubstr("ncclAllReduce(1 ncclInt32) of rank "),
                            HasSubstr("has waited too long for rank 1 (which has come to 0")));
  }
}

TEST(EmulatedNccl, TellsThatAPeerHasAborted) {
  with_ranks(2, [](Member& m) {
    std::byte* const data = m.memory(4);
    m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream));
    EXPECT_EQ(m.finish(), ncclSuccess) << m.why();
    if (m.rank == 1) {
      EXPECT_EQ(ncclCommAbort(m.comm), ncclSuccess);
      m.comm = nullptr;
      return;
    }
    m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream));
    EXPECT_EQ(m.finish(), ncclRemoteError);
    EXPECT_THAT(m.why(), HasSubstr("has aborted the communicator"));
  });
}

TEST(EmulatedNccl, NeverGetsReadyWhereTheFaultSaysSo) {
  const Variable fault("MOELAB_EMULATED_NCCL_NEVER_READY", "1");
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::latch both_have_asked(2);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      ncclComm_t comm = nullptr;
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      ncclResult_t state = ncclCommInitRankConfig(&comm, 2, id, rank, &config);
      for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(state, ncclInProgress);
        ncclCommGetAsyncError(comm, &state);
      }
      both_have_asked.arrive_and_wait();
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Rank 1 is another process, which runs the calling test again with `variable` set to `value`.
class OtherProcess {
 public:
  static constexpr const char* kId = "MOELAB_NCCL_TEST_ID";

  OtherProcess(const ncclUniqueId& id, const char* variable, const char* value) {
    std::string text;
    for (const char byte : id.internal) {
      constexpr char digits[] = "0123456789abcdef";
      text += digits[byte >> 4 & 15];
      text += digits[byte & 15];
    }
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    process_ = fork();
    if (process_ != 0) return;
    setenv(kId, text.c_str(), 1);
    setenv(variable, value, 1);
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "other_process", filter.c_str(), nullptr);
    std::_Exit(127);
  }

  /// What waitpid() says.
  int wait() const {
    int status = 0;
    waitpid(process_, &status, 0);
    return status;
  }

  static bool is_this() { return std::getenv(kId) != nullptr; }
  static ncclUniqueId id() {
    ncclUniqueId id{};
    const std::string text = std::getenv(kId);
    for (std::size_t i = 0; i < sizeof id.internal; ++i) {
      id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    }
    return id;
  }

 private:
  pid_t process_ = -1;
};

/// Adds three times over two processes.
ncclResult_t add_thrice(Member& m, std::int32_t& sum) {
  std::byte* const data = m.memory(bytes_of(std::int32_t{1}));
  for (int i = 0; i < 3; ++i) {
    m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream));
  }
  const ncclResult_t state = m.finish();
  std::memcpy(&sum, data, sizeof sum);
  return state;
}

TEST(EmulatedNccl, ServesRanksThatAreProcesses) {
  std::int32_t sum = 0;
  if (OtherProcess::is_this()) {
    {
      Member member(OtherProcess::id(), 1, 2);
      add_thrice(member, sum);
    }
    std::_Exit(sum == 8 ? 0 : 1);
  }
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const OtherProcess other(id, "MOELAB_NCCL_TEST", "1");
  {
    Member member(id, 0, 2);
    EXPECT_EQ(add_thrice(member, sum), ncclSuccess) << member.why();
    EXPECT_EQ(sum, 8);
  }
  EXPECT_EQ(other.wait(), 0);
}

TEST(EmulatedNccl, TellsThatAPeerHasDiedInACollective) {
  std::int32_t sum = 0;
  if (OtherProcess::is_this()) {
    Member member(OtherProcess::id(), 1, 2);
    add_thrice(member, sum);
    std::_Exit(0);
  }
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const OtherProcess other(id, "MOELAB_EMULATED_NCCL_DIES", "1:2");
  Member member(id, 0, 2);
  EXPECT_EQ(add_thrice(member, sum), ncclRemoteError);
  EXPECT_THAT(member.why(), AllOf(HasSubstr("ncclAllReduce(1 ncclInt32) of rank 0 waits in vain"),
                                  HasSubstr("rank 1 (process "), HasSubstr("has died")));
  const int status = other.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(EmulatedNccl, RefusesAnIdWhoseMakerIsGone) {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclSystemError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("which made the communicator's id, is gone"));
}

}  // namespace
}  // namespace moelab::cuda_emulation::nccl_test
