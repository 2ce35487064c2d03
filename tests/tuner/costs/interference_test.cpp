#include "tuner/costs/interference.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tuner::interference_test {
namespace {

constexpr Occupation kComputation = Occupation::computation;

Interference measured() {
  Interference slow;
  set_speed(slow, "computation_beside_inter_node", 0.8);
  set_speed(slow, "computation_beside_copy", 0.5);
  set_speed(slow, "computation_beside_computation", 0.6);
  return slow;
}

double computing(const Interference& slow, Company company) {
  return speed_beside(slow, kComputation, company);
}

TEST(Interference, NothingSlowsDownWhereNothingIsKnown) {
  for (const Occupation y :
       {kComputation, Occupation::inter_node, Occupation::intra_node, Occupation::copy}) {
    EXPECT_EQ(speed_beside(Interference(), y, {true, true, true, true}), 1);
    EXPECT_EQ(speed_beside(measured(), y, {}), 1) << "alone";
  }
}

TEST(Interference, BesideOneOtherThePairCounts) {
  EXPECT_EQ(computing(measured(), {false, true, false, false}), 0.8);
  EXPECT_EQ(computing(measured(), {false, false, false, true}), 0.5);
  EXPECT_EQ(computing(measured(), {false, false, true, false}), 1) << "the other link";
}

TEST(Interference, BesideSeveralWhatWasMeasuredCountsElseTheProduct) {
  Interference slow = measured();
  EXPECT_DOUBLE_EQ(computing(slow, {false, true, false, true}), 0.4);
  set_speed(slow, "computation_beside_all", 0.45);
  EXPECT_EQ(computing(slow, {false, true, false, true}), 0.45);
  EXPECT_EQ(computing(slow, {false, true, false, false}), 0.8) << "one is not several";
  EXPECT_DOUBLE_EQ(computing(slow, {true, true, false, true}), 0.45 * 0.6)
      << "a second computation is a factor of its own";
  EXPECT_EQ(computing(slow, {true, true, false, false}), 0.8 * 0.6);
}

TEST(Interference, KeysNameOnePairBothLinksOrAll) {
  Interference slow;
  EXPECT_TRUE(set_speed(slow, "communication_beside_computation", 0.75));
  EXPECT_EQ(speed_of(slow, Occupation::inter_node, kComputation), 0.75);
  EXPECT_EQ(speed_of(slow, Occupation::intra_node, kComputation), 0.75);
  EXPECT_EQ(speed_of(slow, kComputation, Occupation::inter_node), 1);
  EXPECT_TRUE(set_speed(slow, "copy_beside_computation", 1.02)) << "noise";
  EXPECT_EQ(speed_of(slow, Occupation::copy, kComputation), 1);
  for (const char* wrong : {"", "copy", "copy_beside_", "all_beside_copy", "copy_beside_memory"}) {
    EXPECT_FALSE(set_speed(slow, wrong, 0.5)) << wrong;
  }
}

TEST(Interference, IsWrittenAsItIsRead) {
  Interference slow = measured();
  set_speed(slow, "inter_node_beside_all", 0.7);
  const auto json = speeds_json(slow);
  EXPECT_EQ(json.size(), 4u) << json;
  Interference read;
  for (const auto& [key, speed] : json.items()) EXPECT_TRUE(set_speed(read, key, speed)) << key;
  EXPECT_EQ(read.speed, slow.speed);
  EXPECT_EQ(read.beside_all, slow.beside_all);
}

}  // namespace
}  // namespace tuner::interference_test
