// What is wrong on one rank alone, and what does not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "nccl_member.h"

namespace moelab::cuda_emulation::nccl_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(EmulatedNccl, RefusesWhatIsWrongOnItsOwn) {
  with_ranks(2, [](Member& m) {
    std::byte* const data = m.memory(64);
    std::vector<std::byte> pageable(64);
    const ncclComm_t other = reinterpret_cast<ncclComm_t>(data);
    const struct {
      ncclResult_t code, expected;
      std::string text, part;
    } cases[] = {
        {ncclReduce(data, data, 4, ncclInt32, ncclSum, 2, m.comm, m.stream), ncclInvalidArgument,
         ncclGetLastError(nullptr), "ncclReduce: rank 2 of a communicator of 2"},
        {ncclAllReduce(data, data + 8, 4, ncclInt32, ncclSum, m.comm, m.stream), ncclInvalidUsage,
         ncclGetLastError(nullptr), "buffers overlap"},
        {ncclAllGather(data, data, 4, ncclInt32, m.comm, m.stream),
         m.rank == 0 ? ncclSuccess : ncclInvalidUsage, ncclGetLastError(nullptr),
         m.rank == 0 ? "" : "buffers overlap"},
    };
    for (const auto& one : cases) {
      EXPECT_EQ(one.code == ncclInProgress ? ncclSuccess : one.code, one.expected);
      EXPECT_THAT(one.text, HasSubstr(one.part));
    }
    // What rank 0 has begun, rank 1 does in order.
    if (m.rank == 1) {
      EXPECT_EQ(m.settle(ncclAllGather(data + 16, data, 4, ncclInt32, m.comm, m.stream)),
                ncclSuccess);
    }
    m.settle(ncclInProgress);
    EXPECT_EQ(ncclAllReduce(pageable.data(), data, 16, ncclInt32, ncclSum, m.comm, m.stream),
              ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclAllReduce: "));
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, other, m.stream),
              ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not a communicator"));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    // A group with a wrong call does nothing at all.
    ncclGroupStart();
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt32, 0, m.comm, m.stream), ncclSuccess);
    EXPECT_EQ(ncclSend(data, 1, ncclInt32, 5, m.comm, m.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_EQ(m.finish(), ncclSuccess);
  });
}

TEST(EmulatedNccl, RefusesCallsAfterTheEnd) {
  with_ranks(2, [](Member& m) {
    std::byte* const data = m.memory(4);
    ASSERT_EQ(m.settle(ncclCommFinalize(m.comm)), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("after ncclCommFinalize"));
    EXPECT_EQ(ncclCommDestroy(m.comm), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(m.comm), ncclInvalidArgument);
    m.comm = nullptr;
  });
}

TEST(EmulatedNccl, RefusesTwoThreadsOnOneCommunicator) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::thread peer([&] {
    Member member(id, 1, 2, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ncclComm_t made = nullptr;
    EXPECT_EQ(ncclCommSplit(member.comm, 0, 0, &made, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(made), ncclSuccess);
  });
  {
    Member member(id, 0, 2, true);
    std::byte* const data = member.memory(4);
    std::thread waits([&] {
      cudaSetDevice(0);
      ncclComm_t made = nullptr;
      EXPECT_EQ(ncclCommSplit(member.comm, 0, 0, &made, nullptr), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(made), ncclSuccess);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, member.comm, member.stream),
              ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("another thread is in a call"));
    waits.join();
  }
  peer.join();
}

TEST(EmulatedNccl, RefusesTwoRanksOnADevice) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      cudaSetDevice(0);
      ncclComm_t comm = nullptr;
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ranks 0 and 1 share a device"));
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Each member makes the calls of its rank, which do not match. Both are told both.
struct MismatchCase {
  const char* name;
  std::function<void(Member&, std::byte*)> calls;
  std::string rank_0, rank_1;
};

const std::vector<MismatchCase> mismatches = {
    {"another operation",
     [](Member& m, std::byte* data) {
       m.settle(m.rank == 0 ? ncclAllReduce(data, data, 4, ncclInt32, ncclSum, m.comm, m.stream)
                            : ncclBroadcast(data, data, 4, ncclInt32, 0, m.comm, m.stream));
     },
     "ncclAllReduce(4 ncclInt32) of rank 0", "ncclBroadcast(4 ncclInt32, root 0) of rank 1"},
    {"another count",
     [](Member& m, std::byte* data) {
       m.settle(
           ncclAllReduce(data, data, m.rank == 0 ? 4 : 5, ncclInt32, ncclSum, m.comm, m.stream));
     },
     "ncclAllReduce(4 ncclInt32) of rank 0", "ncclAllReduce(5 ncclInt32) of rank 1"},
    {"another type",
     [](Member& m, std::byte* data) {
       const ncclDataType_t type = m.rank == 0 ? ncclFloat32 : ncclInt32;
       m.settle(ncclReduce(data, data, 4, type, ncclSum, 1, m.comm, m.stream));
     },
     "ncclReduce(4 ncclFloat32, root 1) of rank 0", "ncclReduce(4 ncclInt32, root 1) of rank 1"},
    {"another root",
     [](Member& m, std::byte* data) {
       m.settle(ncclBroadcast(data, data, 4, ncclInt32, m.rank, m.comm, m.stream));
     },
     "ncclBroadcast(4 ncclInt32, root 0) of rank 0",
     "ncclBroadcast(4 ncclInt32, root 1) of rank 1"},
    {"another order on two streams",
     [](Member& m, std::byte* data) {
       const cudaStream_t second = m.new_stream();
       for (const int turn : {0, 1}) {
         m.settle(turn == m.rank ? ncclReduce(data, data, 4, ncclInt32, ncclSum, 0, m.comm, second)
                                 : ncclBroadcast(data, data, 4, ncclInt32, 0, m.comm, m.stream));
       }
     },
     "ncclReduce(4 ncclInt32, root 0) of rank 0", "ncclBroadcast(4 ncclInt32, root 0) of rank 1"},
    {"another length of a message",
     [](Member& m, std::byte* data) {
       m.settle(m.rank == 0 ? ncclSend(data, 4, ncclInt32, 1, m.comm, m.stream)
                            : ncclRecv(data, 3, ncclInt32, 0, m.comm, m.stream));
     },
     "ncclSend(4 ncclInt32 to rank 1) of rank 0", "ncclRecv(3 ncclInt32 from rank 0) of rank 1"},
    {"a message on the other side of a collective",
     [](Member& m, std::byte* data) {
       const auto message = [&] {
         m.settle(m.rank == 0 ? ncclSend(data, 4, ncclInt32, 1, m.comm, m.stream)
                              : ncclRecv(data, 4, ncclInt32, 0, m.comm, m.stream));
       };
       if (m.rank == 0) message();
       m.settle(ncclAllReduce(data, data, 4, ncclInt32, ncclSum, m.comm, m.stream));
       if (m.rank == 1) message();
     },
     "ncclSend(4 ncclInt32 to rank 1) of rank 0 waits for rank 1",
     "ncclAllReduce(4 ncclInt32) of rank 1 waits for rank 0"},
    {"messages to each other, each in a call of its own",
     [](Member& m, std::byte* data) {
       m.settle(ncclSend(data, 4, ncclInt32, 1 - m.rank, m.comm, m.stream));
       m.settle(ncclRecv(data, 4, ncclInt32, 1 - m.rank, m.comm, m.stream));
     },
     "ncclSend(4 ncclInt32 to rank 1) of rank 0 waits for rank 1",
     "ncclSend(4 ncclInt32 to rank 0) of rank 1 waits for rank 0"},
};

TEST(EmulatedNccl, NamesCallsThatDoNotMatchOnBothSides) {
  for (const MismatchCase& one : mismatches) {
    SCOPED_TRACE(one.name);
    const auto texts = failures(2, [&](Member& m) { one.calls(m, m.memory(64)); });
    for (const std::string& text : texts) {
      EXPECT_THAT(text, AllOf(HasSubstr(one.rank_0), HasSubstr(one.rank_1)));
    }
  }
}

TEST(EmulatedNccl, FindsACircleOfThreeRanksThatWaitForEachOther) {
  const auto texts = failures(3, [](Member& m) {
    std::byte* const data = m.memory(4);
    m.settle(ncclSend(data, 1, ncclInt32, (m.rank + 1) % 3, m.comm, m.stream));
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, AllOf(HasSubstr("of rank 0 waits for rank 1"),
                            HasSubstr("of rank 1 waits for rank 2"),
                            HasSubstr("of rank 2 waits for rank 0")));
  }
}

TEST(EmulatedNccl, NamesCommunicatorsThatAreUsedInAnotherOrder) {
  std::vector<std::string> texts(2);
  with_ranks(2, [&](Member& m) {
    std::byte* const data = m.memory(8);
    ncclComm_t other = nullptr;
    Member::split(m.comm, 0, m.rank, &other);
    Member::settle(other, ncclInProgress);
    const cudaStream_t second = m.new_stream();
    // Each alone would do: they are on streams that run beside each other.
    for (const int turn : {0, 1}) {
      if (turn == m.rank) {
        m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream));
      } else {
        Member::settle(other,
                       ncclAllReduce(data + 4, data + 4, 1, ncclInt32, ncclSum, other, second));
      }
    }
    for (const ncclComm_t one : {m.comm, other}) {
      ncclResult_t state = ncclSuccess;
      while (state == ncclSuccess) ncclCommGetAsyncError(one, &state);
    }
    texts[static_cast<std::size_t>(m.rank)] = m.why();
    // One alone would wait for the kernel of the other.
    ncclGroupStart();
    for (const ncclComm_t one : {other, std::exchange(m.comm, nullptr)}) ncclCommAbort(one);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("in another order: rank "));
    EXPECT_THAT(text, HasSubstr("collectives of another communicator"));
  }
}

TEST(EmulatedNccl, RunsKernelsOfACommunicatorOneAfterTheOtherOnTwoStreams) {
  with_ranks(2, [](Member& m) {
    const cudaStream_t second = m.new_stream();
    std::byte* const data = m.memory(bytes_of(std::int32_t{1}));
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(m.settle(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm,
                                       i % 2 == 0 ? m.stream : second)),
                ncclSuccess);
    }
    ASSERT_EQ(m.finish(), ncclSuccess) << m.why();
    std::int32_t sum = 0;
    std::memcpy(&sum, data, sizeof sum);
    EXPECT_EQ(sum, 1 << 20);
  });
}

}  // namespace
}  // namespace moelab::cuda_emulation::nccl_test
