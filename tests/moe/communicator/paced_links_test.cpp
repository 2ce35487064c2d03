#include "moe/communicator/paced_links.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "moe/communicator/node_name.h"
#include "moe/errors.h"

namespace moe::paced_links_test {
namespace {

/// Sets variables for the length of a test.
class Environment {
 public:
  explicit Environment(const std::vector<std::array<const char*, 2>>& variables) {
    for (const auto& [name, value] : variables) {
      names_.push_back(name);
      setenv(name, value, 1);
    }
  }
  ~Environment() {
    for (const char* name : names_) unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<const char*> names_;
};

struct Folder {
  std::string path = testing::TempDir() + "paced_links_XXXXXX";
  Folder() {
    if (mkdtemp(path.data()) == nullptr) ADD_FAILURE() << path;
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(PacedLinks, MessagesPassALinkOneAfterTheOther) {
  LinkClock link = 0;
  EXPECT_DOUBLE_EQ(take_link(link, 10, 2), 10);
  EXPECT_DOUBLE_EQ(take_link(link, 10, 2), 12);
  EXPECT_DOUBLE_EQ(take_link(link, 11, 2), 14);
  EXPECT_DOUBLE_EQ(take_link(link, 20, 0.5), 20);  // it has been free in the meantime
}

TEST(PacedLinks, ThreadsThatTakeALinkShareItsTime) {
  LinkClock link = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) take_link(link, 1, 1e-6);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(link, 1'000'000'000 + 4'000'000);
}

TEST(PacedLinks, AnIdleLinkMakesUpForABucketOfBytes) {
  LinkClock out = 0, in = 0;
  const PacedRoute route{&out, &in, 1e6};
  const double bucket_s = route.duration_s(kBucketBytes);
  // The first message after a pause has a start of one bucket, the one that follows has none.
  EXPECT_DOUBLE_EQ(route.leave(1'000'000, 10), 10 - bucket_s);
  EXPECT_DOUBLE_EQ(route.leave(1'000'000, 10), 11 - bucket_s);
  EXPECT_DOUBLE_EQ(route.arrive(1'000'000, 10 - bucket_s), 11 - bucket_s);
  EXPECT_DOUBLE_EQ(route.arrive(1'000'000, 11 - bucket_s), 12 - bucket_s);
}

TEST(PacedLinks, MessagesOfTwoSendersArriveOneAfterTheOther) {
  LinkClock first = 0, second = 0, in = 0;
  const PacedRoute from_first{&first, &in, 1e6}, from_second{&second, &in, 1e6};
  const double left_s = from_first.leave(1'000'000, 10);
  EXPECT_DOUBLE_EQ(from_second.leave(1'000'000, 10), left_s);
  EXPECT_DOUBLE_EQ(from_first.arrive(1'000'000, left_s), left_s + 1);
  EXPECT_DOUBLE_EQ(from_second.arrive(1'000'000, left_s), left_s + 2);
}

TEST(PacedLinks, RanksOfANodeShareItsCardAndEveryProcessSeesIt) {
  const Folder folder;
  const PacedBox box{.folder = folder.path, .card_bytes_per_s = 1e6};
  const PacedLinks links(box), others(box);
  const auto first = links.route({0, 0}, {2, 1}), second = others.route({1, 0}, {3, 1});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes_per_s, 1e6);
  EXPECT_DOUBLE_EQ(first->duration_s(500), 0.5e-3);
  EXPECT_DOUBLE_EQ(take_link(*first->out, 1, 3), 1);
  EXPECT_DOUBLE_EQ(take_link(*second->out, 1, 3), 4);
  EXPECT_DOUBLE_EQ(take_link(*first->in, 1, 3), 1);
  // The card of the other node sends while it receives.
  EXPECT_DOUBLE_EQ(take_link(*links.route({2, 1}, {0, 0})->out, 1, 3), 1);
}

TEST(PacedLinks, MessagesInsideANodeTakeLinksOfTheirRanksOrNone) {
  const Folder folder;
  PacedBox box{.folder = folder.path, .card_bytes_per_s = 1e6};
  EXPECT_FALSE(PacedLinks(box).route({0, 0}, {1, 0}));
  box.intra_bytes_per_s = 4e6;
  const PacedLinks links(box);
  EXPECT_FALSE(links.route({0, 0}, {0, 0}));
  const auto inside = links.route({0, 0}, {1, 0}), outside = links.route({0, 0}, {2, 1});
  ASSERT_TRUE(inside && outside);
  EXPECT_EQ(inside->bytes_per_s, 4e6);
  EXPECT_NE(inside->out, outside->out);
  EXPECT_THROW(links.route({0, 0}, {5000, 1}), InputError);
}

TEST(PacedLinks, AreThoseThatTheEnvironmentNames) {
  EXPECT_FALSE(paced_box());
  const Environment environment({{"MOELAB_BOX_PACED", "/somewhere"},
                                 {"MOELAB_BOX_NODE", "3"},
                                 {"MOELAB_BOX_NIC_GBPS", "0.5"},
                                 {"MOELAB_BOX_INTRA_GBPS", "4"}});
  const auto box = paced_box();
  ASSERT_TRUE(box);
  EXPECT_EQ(box->folder, "/somewhere");
  EXPECT_EQ(box->node, 3);
  EXPECT_DOUBLE_EQ(box->card_bytes_per_s, 62.5e6);
  EXPECT_DOUBLE_EQ(box->intra_bytes_per_s, 500e6);
  EXPECT_EQ(node_name(), "paced-node3");
  setenv("MOELAB_BOX_NIC_GBPS", "fast", 1);
  EXPECT_THROW(paced_box(), InputError);
}

}  // namespace
}  // namespace moe::paced_links_test
