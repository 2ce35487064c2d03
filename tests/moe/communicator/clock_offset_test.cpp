#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "moe/communicator/communicator.h"

namespace moe {
namespace {

/// Ranks whose clocks are those of this machine, but rank 0 says a time `ahead_s` later than its.
class OtherClock : public Communicator {
 public:
  OtherClock(Communicator& ranks, double ahead_s)
      : Communicator(ranks.rank, ranks.size), ranks_(ranks), ahead_s_(ahead_s) {}

  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) override {
    double said = 0;
    std::memcpy(&said, from, sizeof said);
    if (rank == 0) said += ahead_s_;
    std::byte* out = send.empty() ? nullptr : reinterpret_cast<std::byte*>(&said);
    ranks_.all_to_all_v(out, send, to, receive, row_bytes, call);
  }
  void all_reduce(void*, std::int64_t, DType, const CallContext&) override { unused(); }
  void all_gather(const void*, void*, std::int64_t, DType, const CallContext&) override {
    unused();
  }
  void reduce_scatter(const void*, void*, std::int64_t, DType, const CallContext&) override {
    unused();
  }
  void broadcast(void*, std::int64_t, DType, int, const CallContext&) override { unused(); }
  void barrier(const CallContext&) override { unused(); }
  std::unique_ptr<Communicator> split(std::span<const int>) override {
    unused();
    return nullptr;
  }

 private:
  static void unused() { throw std::logic_error("clocks are compared by messages alone"); }

  Communicator& ranks_;
  double ahead_s_;
};

TEST(ClockOffset, AddedToARanksTimeGivesThatOfRank0) {
  for (const double ahead_s : {1000.0, -1000.0}) {
    run_local_ranks(3, [&](Communicator& ranks) {
      OtherClock world(ranks, ahead_s);
      const ClockOffset clock = measure_clock_offset(world);
      const double expected_s = world.rank == 0 ? 0 : ahead_s;
      EXPECT_LE(std::abs(clock.offset_s - expected_s), clock.error_s + 1e-9);
      EXPECT_LT(clock.error_s, 1) << "half a round trip";
    });
  }
}

TEST(ClockOffset, OfOneRankIsNone) {
  run_local_ranks(1, [](Communicator& world) {
    const ClockOffset clock = measure_clock_offset(world);
    EXPECT_EQ(clock.offset_s, 0);
    EXPECT_EQ(clock.error_s, 0);
  });
}

}  // namespace
}  // namespace moe
