#include "moe/communicator/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "moe/errors.h"

namespace moe::cores_test {
namespace {

TEST(Cores, AreSharedEvenlyAmongTheRanksOfAMachine) {
  EXPECT_EQ(even_share(8, 8, 1), 8);
  EXPECT_EQ(even_share(8, 8, 3), 2);
  EXPECT_EQ(even_share(2, 2, 4), 1);
}

TEST(Cores, OfARankBoundToItsOwnAreNotSharedAgain) { EXPECT_EQ(even_share(2, 8, 4), 2); }

TEST(Cores, AreNoMoreThanAQuotaAllows) {
  EXPECT_EQ(cores_of_quota("250000 100000"), 2);
  EXPECT_EQ(cores_of_quota("50000 100000"), 1);
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
}

TEST(Cores, OutsideTheAffinityMaskDoNotCount) {
  int cores = 0;
  // A thread's own mask: the other tests keep theirs.
  std::thread([&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(sched_getcpu(), &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    cores = cores_of_rank(1);
  }).join();
  EXPECT_EQ(cores, 1);
}

TEST(Cores, OfRanksThatHaveOneInCommonAreOneSet) {
  using testing::ElementsAre;
  const auto sets = [](const std::vector<std::vector<int>>& cores, std::vector<int> machine,
                       int most = 64) {
    std::vector<UsableCores> usable;
    for (const auto& list : cores) usable.push_back({list, most});
    return core_sets(usable, machine);
  };
  // Four nodes of a box on two cores: the first and the third are bound to one.
  CoreSets found = sets({{0}, {1}, {0}, {1}}, {0, 0, 0, 0});
  EXPECT_THAT(found.set, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(found.cores, ElementsAre(1, 1));
  // Plain processes may use every core, up to a quota.
  found = sets({{0, 1, 2, 3}, {0, 1, 2, 3}}, {0, 0}, 3);
  EXPECT_THAT(found.set, ElementsAre(0, 0));
  EXPECT_THAT(found.cores, ElementsAre(3));
  // Another machine has cores of the same number.
  found = sets({{0}, {0}}, {0, 1});
  EXPECT_THAT(found.set, ElementsAre(0, 1));
  // The last one joins what the first two had apart.
  found = sets({{0, 1}, {4}, {1, 2, 4}, {3}}, {0, 0, 0, 0});
  EXPECT_THAT(found.set, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(found.cores, ElementsAre(4, 1));
}

TEST(Cores, AreIgnoredWhereTheUserSetsThreads) {
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before == nullptr ? "" : before;
  setenv("OMP_NUM_THREADS", "77", 1);
  EXPECT_EQ(default_threads(1), 77);
  setenv("OMP_NUM_THREADS", "100000", 1);
  EXPECT_THROW(default_threads(1), InputError);
  setenv("OMP_NUM_THREADS", "nonsense", 1);
  EXPECT_EQ(default_threads(1), cores_of_rank(1));
  if (before != nullptr) {
    setenv("OMP_NUM_THREADS", kept.c_str(), 1);
  } else {
    unsetenv("OMP_NUM_THREADS");
  }
}

TEST(Cores, ThreadsWaitAwakeWhereEachHasOne) {
  EXPECT_EQ(waiting_of_threads(4, 4), Waiting::awake);
  EXPECT_EQ(waiting_of_threads(5, 4), Waiting::asleep);
  setenv("MOELAB_BOX_NODES", "2", 1);
  EXPECT_EQ(waiting_of_threads(4, 4), Waiting::asleep);
  unsetenv("MOELAB_BOX_NODES");
}

}  // namespace
}  // namespace moe::cores_test
