// The case table of communicator_cases.h on the ranks of an MPI job.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "communicator_cases.h"
#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/mpi/messages.h"
#include "moe/communicator/mpi/transport.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "tests/moe/communicator/mpi_test_main.h"
#include "tests/moe/passes/exchange_cases.h"

namespace {

using moe::test::world;

/// The same collectives on messages in short fragments, as between nodes. Without the error
/// handling of the real one.
class InFragments : public moe::Communicator {
 public:
  explicit InFragments(moe::MpiGroup group)
      : Communicator(group.rank, group.size()), group_(std::move(group)) {}

  /// `node_of`: by rank; none: a node for each rank.
  static std::unique_ptr<InFragments> world(std::int64_t fragment_bytes,
                                            std::vector<int> node_of = {}) {
    moe::MpiGroup group;
    group.comm = MPI_COMM_WORLD;  // the real groups have a comm of their own
    MPI_Comm_rank(group.comm, &group.rank);
    int size = 0;
    MPI_Comm_size(group.comm, &size);
    for (int rank = 0; rank < size; ++rank) {
      group.world_ranks.push_back(rank);
      if (static_cast<int>(node_of.size()) == rank) node_of.push_back(rank);
    }
    for (int rank = 0; rank < size; ++rank) {
      const bool near = node_of[rank] == node_of[group.rank] && rank != group.rank;
      group.peers.push_back({node_of[rank], near ? moe::kWholeMessageBytes : fragment_bytes});
    }
    group.nodes = moe::group_nodes(node_of);
    group.arrived_s.resize(group.world_ranks.size());
    group.context = next_context++;
    return std::make_unique<InFragments>(std::move(group));
  }
  void run(const moe::collective::Call& what, const moe::CallContext& call) override {
    const Count count_sent{*this};
    std::visit([&](const auto& one) { moe::carry_out(group_, one, call); }, what);
  }
  std::unique_ptr<moe::Communicator> split(std::span<const int> ranks) override {
    const auto self = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
    const int context = next_context++;  // all ranks split alike in these tests
    return std::make_unique<InFragments>(moe::part_of(group_, ranks, self, context));
  }

  std::int64_t sent_to_other_nodes() const { return group_.sent_to_other_nodes_bytes; }

 private:
  struct Count {  // after exceptions too
    InFragments& self;
    ~Count() { self.sent_bytes_ = self.group_.sent_bytes; }
  };
  inline static int next_context = 1;
  moe::MpiGroup group_;
};

TEST(MpiCommunicator, CollectivesGiveWhatOneRankWorksOut) {
  const std::vector<int> node_of = moe::nodes_of(moe::survey_ranks(*world));
  moe::cases::check_table(*world, moe::cases::small_counts, node_of);
  moe::cases::check_table(*world, moe::cases::large_counts, node_of);
}

TEST(MpiMessages, CollectivesGiveWhatOneRankWorksOutInFragments) {
  // Short ones, whose last is shorter; and those of real use.
  std::vector<int> apart(world->size);
  std::iota(apart.begin(), apart.end(), 0);
  const auto odd = InFragments::world(10'007);
  moe::cases::check_table(*odd, moe::cases::small_counts, apart);
  const auto real = InFragments::world(moe::kEagerFragmentBytes);
  moe::cases::check_table(*real, moe::cases::large_counts, apart);
  moe::cases::check_sent_bytes(*real);
}

/// Nodes of the ranks: in order, dealt out in turn, and as unlike as possible.
std::vector<std::vector<int>> node_layouts() {
  const int n = world->size;
  std::vector<std::vector<int>> layouts(4);
  for (int rank = 0; rank < n; ++rank) {
    layouts[0].push_back(rank / 2);
    layouts[1].push_back(rank % 2);
    layouts[2].push_back(rank % 3);
    layouts[3].push_back(rank == 0 ? 1 : 0);
  }
  return layouts;
}

TEST(MpiMessages, CollectivesOfNodesWithSeveralRanksGiveWhatOneRankWorksOut) {
  for (const std::vector<int>& node_of : node_layouts()) {
    SCOPED_TRACE(testing::PrintToString(node_of));
    const auto odd = InFragments::world(10'007, node_of);
    moe::cases::check_table(*odd, moe::cases::small_counts, node_of);
    const auto real = InFragments::world(moe::kEagerFragmentBytes, node_of);
    moe::cases::check_table(*real, {300'007}, node_of);
    moe::cases::check_two_streams(*real);
  }
}

TEST(MpiMessages, RanksOfANodeSendEachByteOnceToAnotherNode) {
  // Two places in each of n / 2 nodes: each rank exchanges half an array with its own place.
  if (world->size != 4) GTEST_SKIP() << "needs 4 ranks";
  const auto nodes = InFragments::world(moe::kEagerFragmentBytes, {0, 0, 1, 1});
  const std::int64_t count = 1 << 20;
  std::vector<float> data(count), all(4 * count);
  nodes->all_reduce(data.data(), count, moe::DType::f32, moe::cases::call("all_reduce"));
  EXPECT_EQ(nodes->sent_to_other_nodes(), count * 4 / 2);
  nodes->all_gather(data.data(), all.data(), count, moe::DType::f32,
                    moe::cases::call("all_gather"));
  EXPECT_EQ(nodes->sent_to_other_nodes(), count * 4 / 2 + count * 4);
}

TEST(MpiMessages, TwoCommunicatorsServeTwoThreadsAtOnceInFragments) {
  moe::cases::check_two_streams(*InFragments::world(10'007));
}

TEST(MpiMessages, SenderWaitsUntilALateReceiverHasPosted) {
  // Nothing but words of the receiver tells a sender of eager fragments to stop: the first rank
  // must not be through with 16 MiB while the last has asked for none.
  if (world->size < 2) GTEST_SKIP() << "needs 2 ranks";
  const auto fragments = InFragments::world(4000);
  const int last = world->size - 1;
  std::vector<std::byte> data(16 << 20, std::byte(world->rank + 1));
  if (world->rank == 0) {
    const moe::Segment send{last, 0, std::int64_t{16} << 20};
    EXPECT_THROW(fragments->all_to_all_v(data.data(), {&send, 1}, nullptr, {}, 1,
                                         moe::cases::call("early", 0.2)),
                 moe::TimeLimit);
    EXPECT_GT(fragments->sent_bytes(), (1 << 20) - 4000);
    EXPECT_LE(fragments->sent_bytes(), 1 << 20);
  }
  world->barrier(moe::cases::call("end"));
}

TEST(MpiCommunicator, TwoCommunicatorsServeTwoThreadsAtOnce) {
  moe::cases::check_two_streams(*world);
}

TEST(MpiCommunicator, EveryRouteOfAnExchangeBringsEveryRowWhereItBelongs) {
  moe::cases::check_routes(*world);
}

TEST(MpiCommunicator, CountsTheBytesThatEachCollectiveStates) {
  moe::cases::check_sent_bytes(*world);
}

TEST(MpiCommunicator, TimeLimitNamesWhoWasWaitedFor) { moe::cases::check_time_limit(*world); }

TEST(MpiCommunicator, AnnouncedWorkIsWaitedForAndSilenceIsNot) {
  moe::cases::check_announced_work(*world, 2);  // ranks tell of their work once a second
}

TEST(MpiCommunicator, TimeLimitOfAllToAllNamesThePendingPeersAlone) {
  if (world->size < 3) GTEST_SKIP() << "needs 3 ranks";
  // Rank 0 expects a row from everybody; rank 2 alone does not send.
  std::vector<int> all(world->size);
  for (int rank = 0; rank < world->size; ++rank) all[rank] = rank;
  const auto group = world->split(all);
  std::vector<std::byte> from(4), to(4 * world->size);
  if (world->rank == 0) {
    std::vector<moe::Segment> receive;
    for (int peer = 1; peer < world->size; ++peer) receive.push_back({peer, peer, 1});
    try {
      group->all_to_all_v(from.data(), {}, to.data(), receive, 4,
                          moe::cases::call("dispatch", 0.2));
      ADD_FAILURE() << "no time limit";
    } catch (const std::runtime_error& limit) {
      EXPECT_STREQ(limit.what(), "rank 0 waited 0.2 s for rank 2 in dispatch");
    }
  } else if (world->rank != 2) {
    const moe::Segment send{0, 0, 1};
    group->all_to_all_v(from.data(), {&send, 1}, to.data(), {}, 4, moe::cases::call("dispatch"));
  }
  world->barrier(moe::cases::call("end"));
}

TEST(MpiCommunicator, ClocksOfProcessesOfOneHostAreOneClock) {
  const moe::ClockOffset clock = moe::measure_clock_offset(*world);
  EXPECT_LE(std::abs(clock.offset_s), clock.error_s);
  EXPECT_LT(clock.error_s, 0.1);
}

TEST(MpiCommunicator, WorldsAreApart) {
  const auto other = moe::make_mpi_world();
  float one = 1;
  other->all_reduce(&one, 1, moe::DType::f32, moe::cases::call("other world"));
  EXPECT_EQ(one, static_cast<float>(world->size));
}

}  // namespace
