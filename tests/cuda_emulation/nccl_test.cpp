#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace moelab::cuda_emulation::nccl_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// One rank with a device, a stream and memory of its own. It ends its communicator with its peers,
/// or aborts it where it has failed.
class Member {
 public:
  Member(const ncclUniqueId& id, int in_rank, int in_size, bool blocking = false)
      : rank(in_rank), size(in_size) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess) << "MOELAB_EMULATED_DEVICES is too small";
    stream = new_stream();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    EXPECT_EQ(settle(ncclCommInitRankConfig(&comm, size, id, rank, &config)), ncclSuccess) << why();
  }
  ~Member() {
    ncclResult_t state = ncclSuccess;
    if (comm != nullptr) ncclCommGetAsyncError(comm, &state);
    if (comm != nullptr && state == ncclSuccess) state = settle(ncclCommFinalize(comm));
    if (comm != nullptr) state == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm);
    for (const cudaStream_t one : streams_) cudaStreamDestroy(one);
    for (void* const one : memory_) cudaFree(one);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// Asks until the call that returned `code` is done.
  ncclResult_t settle(ncclResult_t code) { return settle(comm, code); }
  static ncclResult_t settle(ncclComm_t which, ncclResult_t code) {
    while (code == ncclInProgress) {
      if (ncclCommGetAsyncError(which, &code) != ncclSuccess) return ncclSystemError;
      if (code == ncclInProgress) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return code;
  }

  /// Waits until the streams are empty, or the communicator has failed.
  ncclResult_t finish() {
    ncclResult_t state = ncclSuccess;
    for (const cudaStream_t one : streams_) {
      while (cudaStreamQuery(one) == cudaErrorNotReady && state == ncclSuccess) {
        ncclCommGetAsyncError(comm, &state);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    if (state == ncclSuccess) ncclCommGetAsyncError(comm, &state);
    return state;
  }

  std::string why() const { return ncclGetLastError(comm); }

  cudaStream_t new_stream() {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
    streams_.push_back(made);
    return made;
  }

  /// Device memory that lives as long as the member. The host may read and write it while no stream
  /// does.
  std::byte* memory(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(cudaMalloc(&made, std::max<std::size_t>(bytes, 1)), cudaSuccess);
    memory_.push_back(made);
    return static_cast<std::byte*>(made);
  }
  std::byte* memory(const std::vector<std::byte>& content) {
    std::byte* const made = memory(content.size());
    if (!content.empty()) std::memcpy(made, content.data(), content.size());
    return made;
  }

  const int rank, size;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<void*> memory_;
};

/// Runs `body` on threads as ranks.
void with_ranks(int size, const std::function<void(Member&)>& body, bool blocking = false) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(id, rank, size, blocking);
      body(member);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What the ranks' communicators say once `body` has been carried out or has failed; "" is success.
std::vector<std::string> failures(int size, const std::function<void(Member&)>& body) {
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  with_ranks(size, [&](Member& member) {
    body(member);
    if (member.finish() != ncclSuccess) {
      texts[static_cast<std::size_t>(member.rank)] = member.why();
    }
  });
  return texts;
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// -------------------------------------------------------------------------------------------------
// What collectives compute
// -------------------------------------------------------------------------------------------------

struct TypeCase {
  const char* name;
  ncclDataType_t type;
  std::function<std::vector<std::byte>(int)> encode;  ///< a small whole number
};

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  return {bytes.begin(), bytes.end()};
}

std::uint16_t half_of(int value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // 0.5 .. 1
  const auto mantissa = static_cast<int>(fraction * 2048) - 1024;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) + ((exponent + 14) << 10) + mantissa);
}
std::uint16_t bf16_of(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

const std::vector<TypeCase> types = {
    {"int8", ncclInt8, [](int v) { return bytes_of(static_cast<std::int8_t>(v)); }},
    {"int32", ncclInt32, [](int v) { return bytes_of(std::int32_t{v}); }},
    {"int64", ncclInt64, [](int v) { return bytes_of(std::int64_t{v}); }},
    {"half", ncclFloat16, [](int v) { return bytes_of(half_of(v)); }},
    {"bf16", ncclBfloat16, [](int v) { return bytes_of(bf16_of(v)); }},
    {"float", ncclFloat32, [](int v) { return bytes_of(static_cast<float>(v)); }},
    {"double", ncclFloat64, [](int v) { return bytes_of(static_cast<double>(v)); }},
};

/// Elements [first, first + count) of what a rank brings; rank -1: of the sum over `size` ranks.
std::vector<std::byte> values(const TypeCase& type, int rank, int size, std::size_t first,
                              std::size_t count) {
  std::vector<std::byte> all;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto value = [&](int of) { return static_cast<int>((i * 7 + of * 31u) % 16) - 5; };
    int shown = rank < 0 ? 0 : value(rank);
    for (int of = 0; rank < 0 && of < size; ++of) shown += value(of);
    const auto encoded = type.encode(shown);
    all.insert(all.end(), encoded.begin(), encoded.end());
  }
  return all;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void check_collectives(Member& m, const TypeCase& type, std::size_t count) {
  SCOPED_TRACE(testing::Message() << type.name << ", " << count << " elements, rank " << m.rank
                                  << " of " << m.size);
  const auto n = static_cast<std::size_t>(m.size), r = static_cast<std::size_t>(m.rank);
  const std::vector<std::byte> own = values(type, m.rank, m.size, 0, count);
  const std::vector<std::byte> sum = values(type, -1, m.size, 0, count);
  const std::vector<std::byte> blocks = values(type, m.rank, m.size, 0, n * count);
  std::vector<std::byte> everybody;
  for (int rank = 0; rank < m.size; ++rank) {
    append(everybody, values(type, rank, m.size, 0, count));
  }
  const int root = m.size / 2;
  std::byte* const from = m.memory(own);
  std::byte* const all_blocks = m.memory(blocks);
  const auto run = [&](const char* what, const std::vector<std::byte>& expected, std::byte* to,
                       ncclResult_t code) {
    EXPECT_EQ(m.settle(code), ncclSuccess) << what << ": " << m.why();
    EXPECT_EQ(m.finish(), ncclSuccess) << what << ": " << m.why();
    EXPECT_EQ(std::vector<std::byte>(to, to + expected.size()), expected) << what;
  };
  std::byte* to = m.memory(own.size());
  run("all_reduce", sum, to, ncclAllReduce(from, to, count, type.type, ncclSum, m.comm, m.stream));
  to = m.memory(own);
  run("all_reduce in place", sum, to,
      ncclAllReduce(to, to, count, type.type, ncclSum, m.comm, m.stream));
  to = m.memory(everybody.size());
  run("all_gather", everybody, to, ncclAllGather(from, to, count, type.type, m.comm, m.stream));
  to = m.memory(own.size());
  run("reduce_scatter", values(type, -1, m.size, r * count, count), to,
      ncclReduceScatter(all_blocks, to, count, type.type, ncclSum, m.comm, m.stream));
  to = m.memory(own);
  run("broadcast", values(type, root, m.size, 0, count), to,
      ncclBroadcast(to, to, count, type.type, root, m.comm, m.stream));
  to = m.memory(own);
  run("reduce", m.rank == root ? sum : own, to,
      ncclReduce(to, to, count, type.type, ncclSum, root, m.comm, m.stream));
  std::vector<std::byte> own_block(everybody.size());
  std::ranges::copy(own, own_block.begin() + static_cast<std::ptrdiff_t>(r * own.size()));
  std::byte* const gathered = m.memory(own_block);
  run("all_gather in place", everybody, gathered,
      ncclAllGather(gathered + r * own.size(), gathered, count, type.type, m.comm, m.stream));
}

TEST(EmulatedNccl, GathersAndAddsEveryTypeOnAnyNumberOfRanks) {
  for (const int size : {1, 2, 4, 7}) {
    with_ranks(size, [&](Member& member) {
      for (const TypeCase& type : types) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1001}}) {
          check_collectives(member, type, count);
        }
      }
    });
  }
}

TEST(EmulatedNccl, CutsLargeBuffersIntoChunks) {
  with_ranks(2, [&](Member& member) {
    check_collectives(member, types[0], 120'001);
    check_collectives(member, types[6], 20'001);
  });
}

TEST(EmulatedNccl, AddsInTheTypeItselfInTheOrderOfRanks) {
  // [rank]: the bits that it brings. 2048 + 1 is no half, 256 + 1 no bf16: both ties go to even.
  const std::vector<std::uint16_t> half{half_of(2048), half_of(1), half_of(1)};
  const std::vector<std::uint16_t> bf16{bf16_of(256), bf16_of(1), bf16_of(1)};
  const std::vector<std::int8_t> whole{127, 1, 1};
  const std::vector<float> wide{1e8f, -1e8f, 1};
  with_ranks(3, [&](Member& m) {
    const auto r = static_cast<std::size_t>(m.rank);
    const auto sum = [&](auto own, ncclDataType_t type) {
      std::byte* const data = m.memory(bytes_of(own));
      EXPECT_EQ(m.settle(ncclAllReduce(data, data, 1, type, ncclSum, m.comm, m.stream)),
                ncclSuccess);
      EXPECT_EQ(m.finish(), ncclSuccess);
      std::memcpy(&own, data, sizeof own);
      return own;
    };
    EXPECT_EQ(sum(half[r], ncclFloat16), half_of(2048));
    EXPECT_EQ(sum(bf16[r], ncclBfloat16), bf16_of(256));
    EXPECT_EQ(sum(whole[r], ncclInt8), -127);
    EXPECT_EQ(sum(wide[r], ncclFloat32), 1.0f);
  });
}

/// Messages from every rank to every rank, itself included: two each way, of uneven length.
TEST(EmulatedNccl, ExchangesMessagesOfAGroupBesideEachOther) {
  const auto length = [](int from, int to, int which) {
    return static_cast<std::size_t>((from * 3 + to * 5 + which) % 4 * 30'000 + which);
  };
  const auto content = [](int from, int to, int which, std::size_t i) {
    return static_cast<std::byte>(from * 11 + to * 5 + which * 3 + static_cast<int>(i % 97));
  };
  with_ranks(4, [&](Member& m) {
    std::vector<std::byte*> received;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (const int which : {0, 1}) {
      for (int peer = 0; peer < m.size; ++peer) {
        std::vector<std::byte> out(length(m.rank, peer, which));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = content(m.rank, peer, which, i);
        const std::size_t in = length(peer, m.rank, which);
        received.push_back(m.memory(in));
        EXPECT_EQ(ncclRecv(received.back(), in, ncclInt8, peer, m.comm, m.stream), ncclSuccess);
        EXPECT_EQ(ncclSend(m.memory(out), out.size(), ncclInt8, peer, m.comm, m.stream),
                  ncclSuccess);
      }
    }
    EXPECT_EQ(m.settle(ncclGroupEnd()), ncclSuccess) << m.why();
    EXPECT_EQ(m.finish(), ncclSuccess) << m.why();
    for (std::size_t k = 0; k < received.size(); ++k) {
      const int which = static_cast<int>(k) / m.size, peer = static_cast<int>(k) % m.size;
      for (std::size_t i = 0; i < length(peer, m.rank, which); ++i) {
        ASSERT_EQ(received[k][i], content(peer, m.rank, which, i)) << peer << " to " << m.rank;
      }
    }
  });
}

TEST(EmulatedNccl, SplitsByColourAndOrdersByKey) {
  with_ranks(4, [](Member& m) {
    // 3 and 1, then 2 and 0.
    ncclComm_t half = nullptr, alone = nullptr;
    ASSERT_EQ(m.settle(ncclCommSplit(m.comm, m.rank % 2, -m.rank, &half, nullptr)), ncclSuccess);
    ASSERT_NE(half, nullptr) << "the handle is written when the split is done";
    ASSERT_EQ(Member::settle(half, ncclInProgress), ncclSuccess);
    std::byte* const data = m.memory(bytes_of(std::int32_t{m.rank}));
    std::byte* const all = m.memory(8);
    ASSERT_EQ(Member::settle(half, ncclAllGather(data, all, 1, ncclInt32, half, m.stream)),
              ncclSuccess);
    ASSERT_EQ(m.finish(), ncclSuccess);
    std::int32_t gathered[2];
    std::memcpy(gathered, all, sizeof gathered);
    EXPECT_EQ(gathered[0], m.rank % 2 + 2);
    EXPECT_EQ(gathered[1], m.rank % 2);
    ASSERT_EQ(Member::settle(half, ncclCommSplit(half, m.rank, 0, &alone, nullptr)), ncclSuccess);
    for (const ncclComm_t part : {alone, half}) {
      ASSERT_EQ(Member::settle(part, ncclInProgress), ncclSuccess);
      EXPECT_EQ(Member::settle(part, ncclCommFinalize(part)), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
    }
  });
}

TEST(EmulatedNccl, BlocksWhereTheConfigurationSaysSo) {
  with_ranks(
      2,
      [](Member& m) {
        std::byte* const data = m.memory(4);
        for (int i = 0; i < 20; ++i) {
          EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream),
                    ncclSuccess);
        }
      },
      true);
}

TEST(EmulatedNccl, SaysInProgressNowAndThenAndRefusesTheNextCallUntilItIsDone) {
  with_ranks(2, [](Member& m) {
    std::byte* const data = m.memory(4);
    int in_progress = 0;
    for (int i = 0; i < 40; ++i) {
      const ncclResult_t code = ncclAllReduce(data, data, 1, ncclInt32, ncclSum, m.comm, m.stream);
      if (code == ncclInProgress) {
        ++in_progress;
        EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt32, 0, m.comm, m.stream), ncclInvalidUsage);
        EXPECT_THAT(ncclGetLastError(nullptr),
                    AllOf(HasSubstr("ncclBroadcast: before ncclCommGetAsyncError said that "
                                    "ncclAllReduce(1 ncclInt32) is done")));
      }
      ASSERT_EQ(m.settle(code), ncclSuccess);
    }
    EXPECT_GT(in_progress, 5);
    EXPECT_LT(in_progress, 40);
  });
}

// -------------------------------------------------------------------------------------------------
// What is wrong on one rank alone
// -------------------------------------------------------------------------------------------------

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

// -------------------------------------------------------------------------------------------------
// What does not fit together
// -------------------------------------------------------------------------------------------------

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
    m.settle(ncclCommSplit(m.comm, 0, m.rank, &other, nullptr));
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

// -------------------------------------------------------------------------------------------------
// Ranks that do not come
// -------------------------------------------------------------------------------------------------

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
