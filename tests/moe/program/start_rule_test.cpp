#include "moe/program/start_rule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::start_rule_test {
namespace {

using test::chunked;
using test::small_model;

Program scheduled() {
  const Model model = small_model(DType::f32);
  return apply(build_iteration(model, make_groups(4, 4), 0), chunked(model, 3, 2));
}

TEST(StartRule, QueuesHoldEveryOpOnceInListOrder) {
  const Program program = scheduled();
  const StartRule rule = start_rule(program);
  std::size_t count = 0;
  for (std::size_t s = 0; s < rule.queues.size(); ++s) {
    EXPECT_TRUE(std::is_sorted(rule.queues[s].begin(), rule.queues[s].end()));
    for (const int op : rule.queues[s]) EXPECT_EQ(program.ops[op].stream, static_cast<Stream>(s));
    count += rule.queues[s].size();
  }
  EXPECT_EQ(count, program.ops.size());
}

TEST(StartRule, OnlyOpsOnRoutedRowsWaitForTheExchangeOfCounts) {
  const Program program = scheduled();
  const StartRule rule = start_rule(program);
  const auto data = dependencies(program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    bool waits_for_counts = false;
    for (const int earlier : rule.waits_for[i]) {
      waits_for_counts = waits_for_counts || binds_routing(program.ops[earlier]);
      const bool by_data = std::binary_search(data[i].begin(), data[i].end(), earlier);
      EXPECT_TRUE(by_data || binds_routing(program.ops[earlier]));
    }
    if (uses_routed_rows(program, program.ops[i])) {
      EXPECT_TRUE(waits_for_counts) << program.ops[i].name;
    } else if (program.ops[i].name.starts_with("ffn residual")) {
      EXPECT_FALSE(waits_for_counts);
    }
  }
}

TEST(StartRule, EndsBeforeIsWhatFollowingEveryEdgeGives) {
  const Program program = scheduled();
  const StartRule rule = start_rule(program);
  const std::size_t count = program.ops.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const auto add = [&](int op) {
      before[i][op] = true;
      for (std::size_t j = 0; j < count; ++j) {
        if (before[op][j]) before[i][j] = true;
      }
    };
    for (const int earlier : rule.waits_for[i]) add(earlier);
    const auto& queue = rule.queues[static_cast<std::size_t>(program.ops[i].stream)];
    const auto place = std::find(queue.begin(), queue.end(), static_cast<int>(i));
    if (place != queue.begin()) add(*std::prev(place));
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      ASSERT_EQ(ends_before(rule, static_cast<int>(j), static_cast<int>(i)), before[i][j])
          << j << " before " << i;
    }
  }
}

}  // namespace
}  // namespace moe::start_rule_test
