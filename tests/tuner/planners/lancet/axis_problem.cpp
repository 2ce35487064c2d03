#include "tests/tuner/planners/lancet/axis_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <gecode/int.hh>
#include <gecode/search.hh>
#include <memory>

namespace tuner {
namespace {

Gecode::IntSet values_of(AxisSet set) {
  std::array<int, kAxisCount> values{};
  int count = 0;
  for (int axis = 0; axis < kAxisCount; ++axis) {
    if (set.has(static_cast<Axis>(axis))) values[count++] = axis;
  }
  return Gecode::IntSet(values.data(), count);
}

class AxisSpace : public Gecode::Space {
 public:
  /// Expects domains and lists of modes that are not empty.
  explicit AxisSpace(const AxisProblem& problem)
      : axes_(*this, static_cast<int>(problem.domains.size()), 0, kAxisCount - 1),
        modes_(*this, static_cast<int>(problem.constraints.size())) {
    for (int v = 0; v < axes_.size(); ++v) {
      Gecode::dom(*this, axes_[v], values_of(problem.domains[v]));
    }
    std::vector<Gecode::BoolVar> waits;
    for (int op = 0; op < modes_.size(); ++op) {
      waits.push_back(post(problem.constraints[op], op));
    }
    for (const auto& [first, second] : problem.waits_with) {
      Gecode::rel(*this, waits[first], Gecode::BOT_IMP, waits[second], 1);
    }
    Gecode::branch(*this, modes_, Gecode::INT_VAR_NONE(), Gecode::INT_VAL_MIN());
    Gecode::branch(*this, axes_, Gecode::INT_VAR_NONE(), Gecode::INT_VAL_MIN());
  }

  AxisSpace(AxisSpace& other) : Gecode::Space(other) {
    axes_.update(*this, other.axes_);
    modes_.update(*this, other.modes_);
  }
  Gecode::Space* copy() override { return new AxisSpace(*this); }

  AxisSolution solution() const {
    AxisSolution found;
    for (int v = 0; v < axes_.size(); ++v) {
      found.axes.push_back(static_cast<Axis>(axes_[v].val()));
    }
    for (int op = 0; op < modes_.size(); ++op) found.modes.push_back(modes_[op].val());
    return found;
  }

 private:
  /// Adds the constraint. The result says whether the op waits.
  Gecode::BoolVar post(const AxisConstraint& constraint, int op) {
    const int count = static_cast<int>(constraint.modes.size());
    modes_[op] = Gecode::IntVar(*this, 0, count - 1);
    Gecode::BoolVar waits(*this, 0, 1);
    bool may_wait = false;
    for (int m = 0; m < count; ++m) {
      const AxisMode& mode = constraint.modes[m];
      Gecode::BoolVar chosen(*this, 0, 1);
      Gecode::rel(*this, modes_[op], Gecode::IRT_EQ, m, chosen);
      for (std::size_t i = 0; i < mode.operands.size(); ++i) {
        Gecode::dom(*this, axes_[constraint.variables[i]], values_of(mode.operands[i]),
                    Gecode::Reify(chosen, Gecode::RM_IMP));
      }
      if (mode.cut == OpCut::waits) {
        waits = chosen;
        may_wait = true;
      }
    }
    if (!may_wait) Gecode::rel(*this, waits, Gecode::IRT_EQ, 0);
    return waits;
  }

  Gecode::IntVarArray axes_, modes_;
};

}  // namespace

std::optional<AxisSolution> solve(const AxisProblem& problem, std::int64_t most_nodes) {
  const bool none = std::any_of(problem.domains.begin(), problem.domains.end(),
                                [](AxisSet domain) { return domain.empty(); }) ||
                    std::any_of(problem.constraints.begin(), problem.constraints.end(),
                                [](const AxisConstraint& one) { return one.modes.empty(); });
  if (none) return std::nullopt;
  AxisSpace space(problem);
  Gecode::Search::NodeStop most(static_cast<unsigned long>(most_nodes));
  Gecode::Search::Options options;
  options.stop = &most;
  Gecode::DFS<AxisSpace> search(&space, options);
  const std::unique_ptr<AxisSpace> found(search.next());
  if (search.stopped()) {
    throw SearchGivenUp(fmt::format("axes of {} ops: no answer after {} nodes of a search",
                                    problem.constraints.size(), most_nodes));
  }
  if (!found) return std::nullopt;
  return found->solution();
}

}  // namespace tuner
