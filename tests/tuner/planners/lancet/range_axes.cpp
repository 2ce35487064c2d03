#include "tests/tuner/planners/lancet/range_axes.h"

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
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i].may_wait) continue;
    for (std::size_t j = i + 1; j < asked.size(); ++j) {
      if (overwrites(program_.ops[asked[j].op], program_.ops[asked[i].op])) {
        posed.problem.waits_with.emplace_back(static_cast<int>(i), static_cast<int>(j));
      }
    }
  }
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

}  // namespace tuner
