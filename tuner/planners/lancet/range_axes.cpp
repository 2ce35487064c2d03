#include "tuner/planners/lancet/range_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "moe/passes/gate_choice.h"
#include "moe/passes/partition_range.h"
#include "moe/passes/pipeline_split.h"

namespace tuner {
namespace {

std::size_t index_of(moe::TensorId tensor) { return static_cast<std::size_t>(tensor); }

bool uses(const std::vector<moe::Use>& operands, moe::TensorId tensor) {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const moe::Use& use) { return use.tensor == tensor; });
}

/// True where the later op overwrites an operand of the earlier one.
bool overwrites(const moe::Op& later, const moe::Op& earlier) {
  return std::any_of(later.writes.begin(), later.writes.end(), [&](const moe::Use& use) {
    return uses(earlier.reads, use.tensor) || uses(earlier.writes, use.tensor);
  });
}

/// Facts of a tensor in a range, beside those of possible_axes.
struct TensorInRange {
  bool made = false;        ///< an op of the range makes it
  bool made_later = false;  ///< the op that makes it may wait
  bool handed_on = true;    ///< where it is made, each part adds to the result of the parts before
};

AxisMode waiting_mode(const moe::Op& op, const std::vector<TensorInRange>& tensors) {
  AxisMode mode{OpCut::waits, {}};
  for (const moe::Use& use : op.reads) {
    AxisSet whole = kAllAxes;
    const TensorInRange& tensor = tensors[index_of(use.tensor)];
    if (!tensor.handed_on) whole.remove(Axis::irregular);
    mode.operands.push_back(whole);
  }
  mode.operands.insert(mode.operands.end(), op.writes.size(), AxisSet{Axis::later});
  return mode;
}

/// The problem with only the first `count` constraints of an order.
AxisProblem with_first(const AxisProblem& problem, const std::vector<std::size_t>& order,
                       std::size_t count) {
  AxisProblem some{problem.domains, {}, {}};
  std::vector<int> place(problem.constraints.size(), -1);
  for (std::size_t i = 0; i < count; ++i) {
    place[order[i]] = static_cast<int>(i);
    some.constraints.push_back(problem.constraints[order[i]]);
  }
  for (const auto& [first, second] : problem.waits_with) {
    const int one = place[first], other = place[second];
    if (one >= 0 && other >= 0) some.waits_with.emplace_back(one, other);
  }
  return some;
}

/// The variable of the last constraint that prevents it: with any axis for this tensor the
/// constraint would hold. -1: no single one does.
int variable_in_the_way(const AxisProblem& problem, std::int64_t most_nodes) {
  for (const int variable : problem.constraints.back().variables) {
    AxisProblem freed = problem;
    const int any = static_cast<int>(freed.domains.size());
    freed.domains.push_back(kAllAxes);
    auto& variables = freed.constraints.back().variables;
    std::replace(variables.begin(), variables.end(), variable, any);
    if (solve(freed, most_nodes)) return variable;
  }
  return -1;
}

std::string_view phrase(Axis axis) {
  switch (axis) {
    case Axis::none:
      return "whole";
    case Axis::batch:
      return "cut along the batch";
    case Axis::columns:
      return "cut along its columns";
    case Axis::capacity:
      return "cut along capacity";
    case Axis::irregular:
      return "of each part alone";
    case Axis::later:
      return "there only after all parts";
  }
  throw std::logic_error("no such axis");
}

/// The largest of 1 to `limit` that `holds` accepts, found by bisection; 0 if it does not accept 1.
/// It must accept all smaller numbers too.
std::size_t most(std::size_t limit, const auto& holds) {
  std::size_t known = 0;
  while (known < limit) {
    const std::size_t middle = known + (limit - known + 1) / 2;
    if (holds(middle)) {
      known = middle;
    } else {
      limit = middle - 1;
    }
  }
  return known;
}

}  // namespace

RangeAxes::RangeAxes(const moe::Program& program, std::int64_t most_nodes)
    : program_(program),
      most_nodes_(most_nodes),
      forward_(moe::forward_ops(program, 0)),
      readers_(program.tensors.size()) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    for (const moe::Use& use : program.ops[i].reads) readers_[index_of(use.tensor)].push_back(i);
  }
}

MoeOps RangeAxes::moe_ops(int layer) const {
  const auto of_layer = [&](std::size_t place) -> const moe::Op* {
    const moe::Op& op = program_.ops[forward_[place]];
    return op.layer == layer ? &op : nullptr;
  };
  // The gate makes the counts that ranks tell each other.
  moe::TensorId counts = -1;
  std::optional<OpRange> whole, routed;
  for (std::size_t place = 0; place < forward_.size(); ++place) {
    const moe::Op* op = of_layer(place);
    if (op == nullptr) continue;
    if (moe::counts_of(*op) != nullptr) counts = op->reads.front().tensor;
    if (!moe::uses_routed_rows(program_, *op)) continue;
    if (!whole) whole = OpRange{place, 0};
    whole->end = place + 1;
    if (!moe::follows_routed_rows(program_, *op)) continue;
    if (!routed) routed = OpRange{place, 0};
    routed->end = place + 1;
  }
  if (!whole || !routed) {
    throw std::invalid_argument(fmt::format("layer {}: no experts there", layer));
  }
  for (std::size_t place = 0; place < whole->first; ++place) {
    const moe::Op* op = of_layer(place);
    if (op != nullptr && uses(op->writes, counts)) whole->first = place;
  }
  return {*whole, *routed};
}

std::vector<RangeAxes::Asked> RangeAxes::asked_ops(const RangeQuestion& question,
                                                   const MoeOps& around) const {
  std::vector<Asked> asked;
  for (std::size_t place = question.ops.first; place < question.ops.end; ++place) {
    const bool inside = place > question.ops.first && place + 1 < question.ops.end &&
                        place > around.layer.first && place + 1 < around.layer.end;
    asked.push_back({forward_[place], true, inside});
  }
  const bool routes =
      question.ops.first < around.layer.end && question.ops.end > around.layer.first;
  if (!routes || !question.axes.has(Axis::irregular)) return asked;
  // Backward ops between the layer's ops on routed rows wait for them.
  std::size_t end = asked.size();
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const moe::Op& op = program_.ops[i];
    if (op.phase != moe::Phase::backward || op.micro_batch != 0 || moe::comes_once(op)) continue;
    const bool routed = op.layer == question.layer && moe::uses_routed_rows(program_, op);
    if (!routed && asked.size() == question.ops.end - question.ops.first) continue;
    asked.push_back({i, routed, !routed});
    if (routed) end = asked.size();
  }
  asked.resize(end);
  return asked;
}

RangeAxes::Posed RangeAxes::pose(const RangeQuestion& question) const {
  const MoeOps around = moe_ops(question.layer);
  const AxisScope scope{question.layer, question.parts,
                        program_.ops[forward_[around.layer.first]].stage};
  const std::vector<Asked> asked = asked_ops(question, around);

  std::vector<char> in_range(program_.ops.size(), 0);
  std::vector<TensorInRange> tensors(program_.tensors.size());
  for (const Asked& one : asked) {
    in_range[one.op] = 1;
    const moe::Op& op = program_.ops[one.op];
    for (std::size_t i = 0; i < op.writes.size(); ++i) {
      TensorInRange& tensor = tensors[index_of(op.writes[i].tensor)];
      tensor.made = true;
      tensor.made_later = tensor.made_later || one.may_wait;
      tensor.handed_on = tensor.handed_on && hands_on(op, i);
    }
  }

  Posed posed;
  std::vector<int> variable_of(program_.tensors.size(), -1);
  const auto variable = [&](moe::TensorId id) {
    int& known = variable_of[index_of(id)];
    if (known >= 0) return known;
    known = static_cast<int>(posed.tensors.size());
    posed.tensors.push_back(id);
    const TensorInRange& tensor = tensors[index_of(id)];
    AxisSet domain = possible_axes(program_, id, scope) & question.axes;
    const bool used_behind =
        std::any_of(readers_[index_of(id)].begin(), readers_[index_of(id)].end(),
                    [&](std::size_t op) { return in_range[op] == 0; });
    if (!tensor.made || (used_behind && !tensor.handed_on)) domain.remove(Axis::irregular);
    if (!tensor.made_later) domain.remove(Axis::later);
    posed.problem.domains.push_back(domain);
    return known;
  };
  for (const Asked& one : asked) {
    const moe::Op& op = program_.ops[one.op];
    AxisConstraint constraint;
    for (const moe::Use& use : op.reads) constraint.variables.push_back(variable(use.tensor));
    for (const moe::Use& use : op.writes) constraint.variables.push_back(variable(use.tensor));
    if (one.may_be_cut) {
      for (AxisMode& mode : cut_modes(program_, op, scope)) {
        const bool allowed =
            std::all_of(mode.operands.begin(), mode.operands.end(),
                        [&](AxisSet axes) { return !(axes & question.axes).empty(); });
        if (allowed) constraint.modes.push_back(std::move(mode));
      }
    }
    if (one.may_wait) constraint.modes.push_back(waiting_mode(op, tensors));
    posed.problem.constraints.push_back(std::move(constraint));
    posed.ops.push_back(one.op);
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i].may_wait) continue;
    for (std::size_t j = i + 1; j < asked.size(); ++j) {
      if (overwrites(program_.ops[asked[j].op], program_.ops[asked[i].op])) {
        posed.problem.waits_with.emplace_back(static_cast<int>(i), static_cast<int>(j));
      }
    }
  }

  const std::size_t forward = question.ops.end - question.ops.first;
  const std::size_t choice =
      std::clamp(around.layer.first, question.ops.first, question.ops.end) - question.ops.first;
  for (std::size_t i = choice; i < forward; ++i) posed.outwards.push_back(i);
  for (std::size_t i = choice; i > 0; --i) posed.outwards.push_back(i - 1);
  for (std::size_t i = forward; i < asked.size(); ++i) posed.outwards.push_back(i);
  return posed;
}

const std::optional<AxisSolution>& RangeAxes::solved(const AxisProblem& problem) {
  const auto known = solved_.find(problem);
  if (known != solved_.end()) return known->second;
  std::optional<AxisSolution> solution;
  try {
    solution = solve(problem, most_nodes_);
  } catch (const SearchGivenUp&) {
    ++given_up_;
  }
  return solved_.emplace(problem, std::move(solution)).first->second;
}

bool RangeAxes::legal(const RangeQuestion& question) {
  return solved(pose(question).problem).has_value();
}

std::optional<std::map<moe::TensorId, Axis>> RangeAxes::axes(const RangeQuestion& question) {
  const Posed posed = pose(question);
  const std::optional<AxisSolution>& solution = solved(posed.problem);
  if (!solution) return std::nullopt;
  std::map<moe::TensorId, Axis> axes;
  for (std::size_t v = 0; v < posed.tensors.size(); ++v) {
    axes[posed.tensors[v]] = solution->axes[v];
  }
  return axes;
}

std::string RangeAxes::obstacle(const RangeQuestion& question) try {
  const Posed posed = pose(question);
  if (solved(posed.problem)) return {};
  // More ops have fewer solutions. The last of the fewest ops without a solution prevents the cut.
  const std::size_t solvable = most(posed.ops.size(), [&](std::size_t some) {
    return solve(with_first(posed.problem, posed.outwards, some), most_nodes_).has_value();
  });
  if (solvable == posed.ops.size()) throw SearchGivenUp("a search for its axes was given up");
  const std::size_t count = solvable + 1;
  const AxisProblem least = with_first(posed.problem, posed.outwards, count);
  const std::size_t in_the_way = posed.ops[posed.outwards[count - 1]];
  const moe::Op& op = program_.ops[in_the_way];
  const std::size_t choice = moe_ops(question.layer).layer.first;
  if (choice < question.ops.end && in_the_way < forward_[choice]) {
    // Before a gate that needs the whole batch, the gate always prevents it.
    if (const auto refusal = moe::refusal_to_cut(program_.ops[forward_[choice]])) {
      return refusal->what();
    }
  }
  const auto variable =
      least.constraints.back().modes.empty() ? -1 : variable_in_the_way(least, most_nodes_);
  if (variable < 0) {
    const AxisScope scope{question.layer, question.parts, program_.ops[forward_[choice]].stage};
    return why_whole(program_, op, scope);
  }
  const auto v = static_cast<std::size_t>(variable);
  const Axis axis =
      solve(with_first(posed.problem, posed.outwards, count - 1), most_nodes_)->axes[v];
  return fmt::format("\"{}\" cannot be cut with the others: {} is {}", op.name,
                     name_in_block(program_, posed.tensors[v]), phrase(axis));
} catch (const SearchGivenUp& given_up) {
  return given_up.what();
}

std::optional<OpRange> RangeAxes::reach(int layer, int parts) {
  const OpRange inner = moe_ops(layer).layer;
  if (!legal({layer, inner, parts})) return std::nullopt;
  // A range inside a range that can be cut can be cut too.
  const std::size_t before = most(inner.first, [&](std::size_t n) {
    return legal({layer, {inner.first - n, inner.end}, parts});
  });
  const std::size_t after = most(forward_.size() - inner.end, [&](std::size_t n) {
    return legal({layer, {inner.first, inner.end + n}, parts});
  });
  return OpRange{inner.first - before, inner.end + after};
}

}  // namespace tuner
