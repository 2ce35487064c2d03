// What collectives and messages compute, and how calls go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "nccl_member.h"

namespace moelab::cuda_emulation::nccl_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct TypeCase {
  const char* name;
  ncclDataType_t type;
  std::function<std::vector<std::byte>(int)> encode;  ///< a small whole number
};

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
    ASSERT_EQ(Member::split(m.comm, m.rank % 2, -m.rank, &half), ncclSuccess);
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
    ASSERT_EQ(Member::split(half, m.rank, 0, &alone), ncclSuccess);
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

}  // namespace
}  // namespace moelab::cuda_emulation::nccl_test
