#include "tuner/study/profile_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::profile_schedules_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

moe::Program iteration(const moe::Layout& layout) {
  moe::Model model;
  model.blocks = 2;
  model.moe_every = 1;
  model.global_batch = model.capacity_groups = 16;
  return moe::build_iteration(model, moe::make_groups(layout), 0);
}

/// Streams that copies of the scheduled Program are on.
std::set<moe::Stream> streams_of_copies(const moe::Program& program,
                                        const moe::Schedule& schedule) {
  std::set<moe::Stream> streams;
  for (const moe::Op& op : moe::apply(program, schedule).ops) {
    if (moe::facts_of(op).activity == moe::Activity::copy) streams.insert(op.stream);
  }
  return streams;
}

TEST(ProfileSchedules, ShowCopiesAloneAndBesideAllElse) {
  const moe::Program program = iteration({1, 2, 1});
  const auto schedules = copy_profile_schedules(program);
  ASSERT_THAT(schedules, SizeIs(2));
  EXPECT_EQ(streams_of_copies(program, schedules[0].schedule), std::set{moe::Stream::compute});
  EXPECT_EQ(streams_of_copies(program, schedules[1].schedule), std::set{moe::Stream::copy});
  for (const moe::Op& op : moe::apply(program, schedules[0].schedule).ops) {
    EXPECT_TRUE(op.stream == moe::Stream::compute || op.stream == moe::Stream::host) << op.name;
  }
  EXPECT_THAT(copy_profile_schedules(iteration({1, 1, 2})), IsEmpty()) << "buffers are not shared";
}

TEST(ProfileSchedules, CutEveryLayerAndTheOpsBeforeItIntoPartsOfTheBatch) {
  const moe::Program program = iteration({1, 2, 1});
  const auto parts = parts_profile_schedule(program);
  ASSERT_TRUE(parts);
  const auto ranges = moe::decisions_of<moe::PartitionRange>(parts->schedule);
  ASSERT_THAT(ranges, SizeIs(2));
  for (const moe::PartitionRange& range : ranges) EXPECT_GT(range.ops_before, 0);
  int dense_in_parts = 0;
  for (const moe::Op& op : moe::apply(program, parts->schedule).ops) {
    dense_in_parts += op.name.starts_with("attention") && moe::share_of(op).count == 2 ? 1 : 0;
  }
  EXPECT_GT(dense_in_parts, 0);
}

TEST(ProfileSchedules, MeasureTheSmallestChunksThatPlannersMayMake) {
  const moe::Program program = iteration({1, 2, 1});
  const auto most = [&](int asked) {
    int chunks = 0;
    for (const ProfileSchedule& one : profile_schedules(program, asked)) {
      for (const moe::Decision& decision : one.schedule.decisions) {
        const auto* split = std::get_if<moe::PipelineSplit>(&decision);
        if (split) chunks = std::max(chunks, split->chunks);
      }
    }
    return chunks;
  };
  EXPECT_EQ(most(2), 4);
  EXPECT_EQ(most(6), 6);
  EXPECT_EQ(most(64), 16);
}

TEST(ProfileSchedules, HaveCopiesWhereAPlannerOffloads) {
  const moe::Program program = iteration({1, 2, 1});
  const std::size_t always = profile_schedules(program).size();
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("tutel,fsmoe")), SizeIs(always));
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("tutel,mpmoe_pm")),
              SizeIs(always + 2));
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("lancet")), SizeIs(always + 1));
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("joint")), SizeIs(always + 3));
}

/// The peak of a schedule under even routing.
std::int64_t peak_of(const moe::Program& program, const moe::Groups& groups,
                     const ProfileSchedule& one) {
  return planned_peak_bytes(moe::apply(program, one.schedule), groups,
                            make_routing("uniform", program, groups, 0));
}

TEST(ProfileSchedules, GiveWayToLeanerOnesWhereTheyDoNotFit) {
  const moe::Groups groups = moe::make_groups({1, 2, 1});
  const moe::Program program = iteration({1, 2, 1});
  const auto routing = make_routing("uniform", program, groups, 0);
  const auto all = profile_schedules(program);
  std::string said;
  const auto fitting = [&](std::int64_t limit) {
    said.clear();
    return those_that_fit(program, groups, routing, limit, all,
                          [&](const std::string& text) { said += text + "\n"; });
  };
  ASSERT_THAT(fitting(0), SizeIs(all.size()));
  EXPECT_EQ(said, "");
  const std::int64_t sequential = peak_of(program, groups, all[0]);
  std::int64_t least = sequential;
  for (const ProfileSchedule& one : leaner(program, all[0])) {
    least = std::min(least, peak_of(program, groups, one));
  }
  ASSERT_LT(least, sequential);
  const auto some = fitting(sequential - 1);
  EXPECT_THAT(some, Not(IsEmpty()));
  EXPECT_THAT(said, HasSubstr("\"sequential\" does not fit the memory limit"));
  std::set<std::string> seen;
  for (const ProfileSchedule& one : some) {
    EXPECT_LT(peak_of(program, groups, one), sequential) << one.what;
    EXPECT_TRUE(seen.insert(moe::decisions_json(one.schedule)).second) << one.what;
  }
  EXPECT_THROW(fitting(1), moe::OutOfMemory);
}

}  // namespace
}  // namespace tuner::profile_schedules_test
