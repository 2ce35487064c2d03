#include "tests/tuner/planners/lancet/axis_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tuner::axis_problem_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Y = X W  [Lancet 5.2].
const AxisConstraint kProduct{{0, 1, 2},
                              {{OpCut::batch, {{Axis::batch}, {Axis::none}, {Axis::batch}}},
                               {OpCut::columns, {{Axis::none}, {Axis::columns}, {Axis::columns}}}}};

TEST(AxisProblem, OfAProductIsSolvedByRowsOrByColumns) {
  AxisProblem problem{{kAllAxes, kAllAxes, kAllAxes}, {kProduct}, {}};
  EXPECT_THAT(solve(problem)->axes, ElementsAre(Axis::batch, Axis::none, Axis::batch));
  problem.domains[2] = {Axis::columns};
  EXPECT_THAT(solve(problem)->axes, ElementsAre(Axis::none, Axis::columns, Axis::columns));
  problem.domains[1] = {Axis::none};
  EXPECT_EQ(solve(problem), std::nullopt);
}

TEST(AxisProblem, OfNothingIsSolvedAndOfNoWayIsNot) {
  EXPECT_EQ(solve({}), AxisSolution{});
  EXPECT_EQ(solve({{AxisSet{}}, {}, {}}), std::nullopt);
  EXPECT_EQ(solve({{kAllAxes}, {{{0}, {}}}, {}}), std::nullopt);
}

/// Each of `pigeons` in one of `holes`, none with another: variable i * holes + h is the batch
/// where i is in h.
AxisProblem pigeons_in_holes(int pigeons, int holes) {
  AxisProblem problem;
  problem.domains.assign(static_cast<std::size_t>(pigeons * holes), {Axis::none, Axis::batch});
  const auto place = [&](int pigeon, int hole) { return pigeon * holes + hole; };
  for (int i = 0; i < pigeons; ++i) {
    AxisConstraint somewhere;
    for (int h = 0; h < holes; ++h) {
      somewhere.variables.push_back(place(i, h));
      AxisMode here{OpCut::batch, std::vector<AxisSet>(static_cast<std::size_t>(holes), kAllAxes)};
      here.operands[static_cast<std::size_t>(h)] = {Axis::batch};
      somewhere.modes.push_back(here);
    }
    problem.constraints.push_back(somewhere);
  }
  for (int h = 0; h < holes; ++h) {
    for (int i = 0; i < pigeons; ++i) {
      for (int j = i + 1; j < pigeons; ++j) {
        problem.constraints.push_back(
            {{place(i, h), place(j, h)},
             {{OpCut::batch, {{Axis::none}, kAllAxes}}, {OpCut::batch, {kAllAxes, {Axis::none}}}}});
      }
    }
  }
  return problem;
}

TEST(AxisProblem, IsGivenUpAfterSoManyNodesAndSaysSo) {
  EXPECT_TRUE(solve(pigeons_in_holes(4, 4), 100));
  EXPECT_EQ(solve(pigeons_in_holes(5, 4)), std::nullopt);
  EXPECT_THAT([] { solve(pigeons_in_holes(5, 4), 5); },
              ThrowsMessage<SearchGivenUp>(HasSubstr("no answer after 5 nodes")));
  EXPECT_THAT([] { solve(pigeons_in_holes(8, 7), 1000); },
              ThrowsMessage<SearchGivenUp>(HasSubstr("no answer after 1000 nodes")));
}

bool fits(const AxisMode& mode, const AxisConstraint& constraint, const std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < mode.operands.size(); ++i) {
    const auto variable = static_cast<std::size_t>(constraint.variables[i]);
    if (!mode.operands[i].has(axes[variable])) return false;
  }
  return true;
}

bool satisfies(const AxisProblem& problem, const AxisSolution& tried) {
  for (std::size_t v = 0; v < problem.domains.size(); ++v) {
    if (!problem.domains[v].has(tried.axes[v])) return false;
  }
  const auto mode_of = [&](std::size_t op) -> const AxisMode& {
    return problem.constraints[op].modes[static_cast<std::size_t>(tried.modes[op])];
  };
  for (std::size_t op = 0; op < problem.constraints.size(); ++op) {
    if (!fits(mode_of(op), problem.constraints[op], tried.axes)) return false;
  }
  return std::all_of(problem.waits_with.begin(), problem.waits_with.end(), [&](const auto& pair) {
    return mode_of(static_cast<std::size_t>(pair.first)).cut != OpCut::waits ||
           mode_of(static_cast<std::size_t>(pair.second)).cut == OpCut::waits;
  });
}

/// Counts up like an odometer, the last digit first; false where it begins again.
template <class Digit, class Base>
bool next(std::vector<Digit>& digits, const Base& base) {
  for (std::size_t i = digits.size(); i > 0; --i) {
    const int value = static_cast<int>(digits[i - 1]) + 1;
    digits[i - 1] = static_cast<Digit>(value % base(i - 1));
    if (value < base(i - 1)) return true;
  }
  return false;
}

/// Solves it by trying every assignment of modes, and of axes under each.
std::optional<AxisSolution> by_trying_all(const AxisProblem& problem) {
  AxisSolution tried{{}, std::vector<int>(problem.constraints.size(), 0)};
  do {
    tried.axes.assign(problem.domains.size(), Axis::none);
    do {
      if (satisfies(problem, tried)) return tried;
    } while (next(tried.axes, [](std::size_t) { return kAxisCount; }));
  } while (next(tried.modes, [&](std::size_t op) {
    return static_cast<int>(problem.constraints[op].modes.size());
  }));
  return std::nullopt;
}

AxisProblem draw_problem(std::mt19937& random) {
  const auto draw = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  const auto draw_axes = [&](int one_in) {
    AxisSet axes{static_cast<Axis>(draw(kAxisCount))};
    AxisSet all = kAllAxes;
    for (int axis = 0; axis < kAxisCount; ++axis) {
      if (!axes.has(static_cast<Axis>(axis)) && draw(one_in) > 0)
        all.remove(static_cast<Axis>(axis));
    }
    return all;
  };
  AxisProblem problem;
  for (int v = 0; v < 4; ++v) problem.domains.push_back(draw_axes(2));
  const int ops = 1 + draw(3);
  for (int op = 0; op < ops; ++op) {
    AxisConstraint constraint;
    const int operands = 1 + draw(3), modes = 1 + draw(3);
    for (int i = 0; i < operands; ++i) constraint.variables.push_back(draw(4));
    for (int m = 0; m < modes; ++m) {
      AxisMode mode{m + 1 == modes && draw(2) > 0 ? OpCut::waits : OpCut::batch, {}};
      for (int i = 0; i < operands; ++i) mode.operands.push_back(draw_axes(4));
      constraint.modes.push_back(mode);
    }
    problem.constraints.push_back(constraint);
  }
  for (int pair = draw(3); pair > 0 && ops > 1; --pair) {
    problem.waits_with.emplace_back(draw(ops - 1), ops - 1);
  }
  return problem;
}

TEST(AxisProblem, IsSolvedAsByTryingEveryAssignment) {
  std::mt19937 random(3);
  int solved = 0;
  for (int i = 0; i < 400; ++i) {
    const AxisProblem problem = draw_problem(random);
    const auto expected = by_trying_all(problem);
    EXPECT_EQ(solve(problem), expected) << "draw " << i;
    solved += expected.has_value();
  }
  EXPECT_GT(solved, 50);
  EXPECT_LT(solved, 350);
}

}  // namespace
}  // namespace tuner::axis_problem_test
