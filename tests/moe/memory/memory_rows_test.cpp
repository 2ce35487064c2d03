#include "moe/memory/memory_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::memory_rows_test {
namespace {

using test::chunked;
using test::small_model;

Routing zipf(const Model& model, const Groups& groups) {
  Routing routing;
  const int ranks = stage_ranks(groups);
  for (int block = model.moe_every - 1; block < model.blocks; block += model.moe_every) {
    for (int batch = 0; batch < model.micro_batches; ++batch) {
      routing.layers.push_back(zipf_routing(
          block, ranks, model.experts,
          model.global_batch / model.micro_batches / ranks * model.sequence_length * model.choices,
          1.0, 7));
      routing.layers.back().micro_batch = batch;
    }
  }
  return routing;
}

/// One op after the other, in list order, a second each; rank r a tenth later.
Timeline in_order(const Program& program, const Groups& groups) {
  Timeline timeline;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    std::vector<OpSpan>& spans = timeline.ranks.emplace_back();
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      if (!runs_in(program.ops[op], stage_of(groups, rank))) continue;
      spans.push_back({static_cast<int>(op), static_cast<double>(op) + 0.1 * rank, 1});
    }
  }
  timeline.duration_s = static_cast<double>(program.ops.size()) + 1;
  return timeline;
}

struct Case {
  Groups groups;
  Program program;
  Routing routing;
  db::TimelineMemory rows;

  Case(const Model& model, Groups of, const Schedule& schedule) : groups(std::move(of)) {
    program = apply(build_iteration(model, groups, 0), schedule);
    routing = zipf(model, groups);
    rows = memory_rows(program, in_order(program, groups), routing, groups);
  }
};

Case offloading() {
  const Model model = small_model(DType::f32);
  Schedule schedule = chunked(model, 3, 3);
  schedule.decisions.push_back(
      RestoreActivation{1, RestoreDispatched::offload, RestoreHidden::offload});
  return {model, make_groups(4, 4), schedule};
}

Case pipelined() {
  Model model = small_model(DType::f32);
  model.blocks = 5;
  model.micro_batches = 2;
  return {model, make_groups(Layout{1, 2, 1, 1, 2}), {}};
}

void expect_planned_peaks(const Case& c) {
  const std::vector<StageProgram> stages = stage_programs(c.program);
  std::map<int, std::string> pools;
  for (const db::TimelineTensor& tensor : c.rows.tensors) pools[tensor.tensor] = tensor.pool;
  for (int rank = 0; rank < c.groups.ranks; ++rank) {
    const Program& stage = stages[static_cast<std::size_t>(stage_of(c.groups, rank))].program;
    const Binding binding = bind(c.program, c.routing, c.groups, rank);
    for (const Pool pool : {Pool::device, Pool::host}) {
      const std::string name = pool == Pool::host ? "host" : "device";
      std::int64_t highest = 0;
      for (const db::Allocation& row : c.rows.allocations) {
        if (row.rank != rank || pools.at(row.tensor) != name) continue;
        highest = std::max(highest, row.offset_bytes + row.bytes);
      }
      EXPECT_EQ(highest, planned_peak_bytes(stage, binding, pool)) << rank << name;
    }
  }
}

TEST(MemoryRows, TheHighestByteOfARankIsItsPlannedPeak) {
  const Case c = offloading();
  expect_planned_peaks(c);
  EXPECT_TRUE(std::any_of(c.rows.tensors.begin(), c.rows.tensors.end(),
                          [](const db::TimelineTensor& tensor) { return tensor.pool == "host"; }));
}

TEST(MemoryRows, EveryStageHasTensorsOfItsOwn) {
  const Case c = pipelined();
  expect_planned_peaks(c);
  std::map<int, int> stage_of_tensor;
  for (const db::Allocation& row : c.rows.allocations) {
    const int stage = stage_of(c.groups, row.rank);
    EXPECT_EQ(stage_of_tensor.try_emplace(row.tensor, stage).first->second, stage);
  }
  EXPECT_GT(stage_of_tensor.size(), c.program.tensors.size() / 2);
}

TEST(MemoryRows, NoTwoTensorsHaveTheSameMemoryAtOneTime) {
  const Case c = offloading();
  std::map<int, std::string> pools;
  for (const db::TimelineTensor& tensor : c.rows.tensors) pools[tensor.tensor] = tensor.pool;
  int passed_on = 0;
  const auto& rows = c.rows.allocations;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size() && rows[b].rank == rows[a].rank; ++b) {
      const bool apart = rows[a].offset_bytes >= rows[b].offset_bytes + rows[b].bytes ||
                         rows[b].offset_bytes >= rows[a].offset_bytes + rows[a].bytes;
      if (apart || pools.at(rows[a].tensor) != pools.at(rows[b].tensor)) continue;
      ASSERT_TRUE(rows[a].begin_s && rows[b].begin_s) << "what lasts shares memory with nothing";
      EXPECT_TRUE(*rows[a].end_s <= *rows[b].begin_s || *rows[b].end_s <= *rows[a].begin_s);
      ++passed_on;
    }
  }
  EXPECT_GT(passed_on, 20) << "memory should be used again";
}

TEST(MemoryRows, ATensorIsInUseFromItsFirstOpToItsLast) {
  const Case c = offloading();
  for (const db::Allocation& row : c.rows.allocations) {
    if (!row.first_op) {
      EXPECT_FALSE(row.last_op || row.begin_s || row.end_s);
      continue;
    }
    EXPECT_LE(*row.first_op, *row.last_op);
    EXPECT_DOUBLE_EQ(*row.begin_s, *row.first_op + 0.1 * row.rank);
    EXPECT_DOUBLE_EQ(*row.end_s, *row.last_op + 0.1 * row.rank + 1);
  }
}

}  // namespace
}  // namespace moe::memory_rows_test
