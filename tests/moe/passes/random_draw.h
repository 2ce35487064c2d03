#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/rows/layout.h"

/// Random draws for the invariance property: models, layouts, nodes, and Schedules that are legal
/// for them.
namespace moe::test {

/// One draw of the property: this model under this schedule on these ranks computes what it does in
/// sequence on one rank, under those of its decisions that change results.
struct Draw {
  Model model;
  Schedule schedule;
  Layout layout;
  std::vector<int> node_of{};  ///< empty: all on one node
  std::optional<Schedule>
      later{};  ///< in force from the third iteration on, experts being moved before it
};

std::string describe(const Draw& draw);

/// Removes stream assignments for kinds of ops that the draw's Program no longer has after it was
/// shrunk.
void keep_streams_there(Draw& draw);

Draw random_draw(std::mt19937& random);

}  // namespace moe::test
