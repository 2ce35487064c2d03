#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "moe/communicator/communicator.h"

namespace moe::clock_offset_test {
namespace {

/// Ranks whose clocks are those of this machine, but rank 0 says a time `ahead_s` later than its.
class OtherClock : public Communicator {
 public:
  OtherClock(Communicator& ranks, double ahead_s)
      : Communicator(ranks.rank, ranks.size), ranks_(ranks), ahead_s_(ahead_s) {}

  void run(const collective::Call& what, const CallContext& call) override {
    const auto* exchange = std::get_if<collective::AllToAllV>(&what);
    if (exchange == nullptr) throw std::logic_error("clocks are compared by messages alone");
    double said = 0;
    std::memcpy(&said, exchange->from, sizeof said);
    if (rank == 0) said += ahead_s_;
    collective::AllToAllV passed_on = *exchange;
    passed_on.from = passed_on.send.empty() ? nullptr : reinterpret_cast<std::byte*>(&said);
    ranks_.run(passed_on, call);
  }
  std::unique_ptr<Communicator> split(std::span<const int>) override {
    throw std::logic_error("clocks are compared in one group");
  }

 private:
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
}  // namespace moe::clock_offset_test
