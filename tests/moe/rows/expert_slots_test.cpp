#include "moe/rows/expert_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"

namespace moe::expert_slots_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 8 experts of 4 members: 3 of member 1 on 0 and 2 as well, 6 of member 3 on 0.
ExpertSlots slots_of(RowsOfOthers rows) {
  return expert_slots({{{3, {0, 2}}, {6, {0}}}, rows}, 8, 4);
}

TEST(ExpertSlots, OfAMemberHoldItsOwnExpertsThenReplicasThenNothing) {
  const ExpertSlots slots = slots_of(RowsOfOthers::home);
  EXPECT_EQ(slot_count(slots), 4) << "member 0 has two replicas, so all have room for two";
  const auto experts = [&](int member) {
    std::vector<int> there;
    for (int slot = 0; slot < slot_count(slots); ++slot) {
      there.push_back(expert_in(slots, member, slot));
    }
    return there;
  };
  EXPECT_THAT(experts(0), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(experts(1), ElementsAre(2, 3, -1, -1));
  EXPECT_THAT(experts(2), ElementsAre(4, 5, 3, -1));
  EXPECT_EQ(slot_of(slots, 0, 6), 3);
  EXPECT_EQ(slot_of(slots, 1, 3), 1);
  EXPECT_THROW(slot_of(slots, 2, 6), std::logic_error);
}

TEST(ExpertSlots, RowsOfAMemberThatHasTheExpertStay) {
  for (const RowsOfOthers rows : {RowsOfOthers::home, RowsOfOthers::spread}) {
    const ExpertSlots slots = slots_of(rows);
    for (const int source : {0, 1, 2}) EXPECT_EQ(destination(slots, source, 3), source);
    EXPECT_EQ(destination(slots, 0, 6), 0);
    EXPECT_EQ(destination(slots, 2, 0), 0) << "no copies";
  }
}

TEST(ExpertSlots, RowsOfOthersGoHomeOrInTurns) {
  EXPECT_EQ(destination(slots_of(RowsOfOthers::home), 3, 3), 1);
  // {home, holders...}[source mod 3] = {1, 0, 2}[0], and {3, 0}[1], {3, 0}[0].
  EXPECT_EQ(destination(slots_of(RowsOfOthers::spread), 3, 3), 1);
  EXPECT_EQ(destination(slots_of(RowsOfOthers::spread), 1, 6), 0);
  EXPECT_EQ(destination(slots_of(RowsOfOthers::spread), 2, 6), 3);
}

TEST(ExpertSlots, WithoutReplicasAreTheOwnOnes) {
  const ExpertSlots slots = expert_slots({}, 8, 4);
  EXPECT_EQ(slot_count(slots), 2);
  EXPECT_EQ(destination(slots, 0, 7), 3);
}

TEST(ExpertSlots, OwnExpertsAreThoseAtHomeThereAscending) {
  const ExpertSlots slots =
      expert_slots({{{3, {0}}}, RowsOfOthers::home, {2, 0, 1, 2, 3, 3, 0, 1}}, 8, 4);
  EXPECT_EQ(home_of(slots, 3), 2);
  EXPECT_EQ(expert_in(slots, 2, 0), 0);
  EXPECT_EQ(expert_in(slots, 2, 1), 3);
  EXPECT_EQ(expert_in(slots, 0, 2), 3) << "a replica";
  EXPECT_EQ(slot_of(slots, 2, 3), 1);
  EXPECT_EQ(slot_of(slots, 0, 3), 2);
  EXPECT_EQ(destination(slots, 1, 3), 2);
  EXPECT_EQ(destination(slots, 0, 3), 0);
  EXPECT_EQ(destination(slots, 1, 7), 1);
  EXPECT_THROW(slot_of(slots, 3, 3), std::logic_error);
  EXPECT_THAT(homes_in_order(6, 3), ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(ExpertSlots, AreEmptyWhereAMemberHasFewerExpertsThanAnother) {
  // 0 1 | 2 3 | 4 | 5, and a replica of 0 on the last.
  const ExpertSlots slots = expert_slots({{{0, {3}}}}, 6, 4);
  EXPECT_EQ(slots.own, 2);
  EXPECT_EQ(expert_in(slots, 1, 1), 3);
  EXPECT_EQ(expert_in(slots, 3, 0), 5);
  EXPECT_EQ(expert_in(slots, 3, 1), -1);
  EXPECT_EQ(expert_in(slots, 3, 2), 0) << "replicas come after the slots of all own experts";
  EXPECT_EQ(slot_of(slots, 3, 5), 0);
  EXPECT_EQ(slot_of(slots, 3, 0), 2);
  EXPECT_EQ(home_of(slots, 4), 2);
  EXPECT_THAT(homes_in_order(6, 4), ElementsAre(0, 0, 1, 1, 2, 3));
}

TEST(ExpertSlots, RefusesWhatIsNotThereNotInOrderOrAtHome) {
  const auto refused = [](ExpertPlacement placement, const char* why) {
    EXPECT_THAT([&] { expert_slots(placement, 8, 4); }, ThrowsMessage<Refusal>(HasSubstr(why)));
  };
  refused({{{8, {0}}}}, "expert 8 on ranks 0: expected an expert from 0 to 7");
  refused({{{3, {}}}}, "expert 3 on ranks : expected at least one rank besides its home");
  refused({{{3, {4}}}}, "rank 4: expected one of the expert group, from 0 to 3");
  refused({{{3, {0, 1}}}}, "rank 1 is its home");
  refused({{{3, {2, 0}}}}, "expected ascending ranks, each once");
  refused({{{3, {0, 0}}}}, "expected ascending ranks, each once");
  refused({{{3, {0}}, {3, {2}}}}, "expert 3 after expert 3: expected ascending experts, each once");
  EXPECT_THROW(expert_slots({}, 3, 4), std::invalid_argument);
  EXPECT_THAT(
      [] {
        expert_slots({{}, RowsOfOthers::home, {0, 1, 1, 2, 2}}, 5, 3);
      },
      ThrowsMessage<Refusal>(HasSubstr("rank 0 is the home of 1 experts: expected 2, as "
                                       "many as of 5 experts in order on 3 ranks")));
  refused({{}, RowsOfOthers::home, {0, 1}}, "homes: 2 entries: expected one for each of 8 experts");
  refused({{}, RowsOfOthers::home, {0, 0, 1, 1, 2, 2, 3, 4}},
          "expert 7 at home on rank 4: expected one of the expert group, from 0 to 3");
  refused({{}, RowsOfOthers::home, {0, 0, 1, 1, 2, 2, 3, 2}},
          "rank 2 is the home of 3 experts: expected 2 on each");
  refused({{{3, {2}}}, RowsOfOthers::home, {2, 0, 1, 2, 3, 3, 0, 1}}, "rank 2 is its home");
}

}  // namespace
}  // namespace moe::expert_slots_test
