#include "tuner/study/profile_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "moe/model/iteration.h"

namespace tuner::profile_schedules_test {
namespace {

using ::testing::IsEmpty;
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

TEST(ProfileSchedules, HaveCopiesWhereAPlannerOffloads) {
  const moe::Program program = iteration({1, 2, 1});
  const std::size_t always = profile_schedules(program).size();
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("tutel,fsmoe")), SizeIs(always));
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("tutel,mpmoe_pm")),
              SizeIs(always + 2));
  EXPECT_THAT(schedules_to_profile(program, {}, parse_planners("joint")), SizeIs(always + 2));
}

}  // namespace
}  // namespace tuner::profile_schedules_test
