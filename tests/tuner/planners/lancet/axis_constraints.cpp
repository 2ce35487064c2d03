#include "tests/tuner/planners/lancet/axis_constraints.h"

#include <algorithm>
#include <type_traits>

#include "moe/passes/gate_choice.h"
#include "moe/passes/partition_range.h"
#include "moe/passes/pipeline_split.h"

namespace tuner {
namespace {

using moe::Cut;
using moe::Op;
using moe::Program;
using moe::Tensor;
using moe::Use;

const Tensor& tensor_at(const Program& program, const Use& use) {
  return program.tensors[use.tensor];
}

bool is_routed(const Tensor& tensor) { return tensor.rows_are != moe::Rows::fixed; }

bool follows_rows(Cut cut) { return cut == Cut::rows || cut == Cut::tokens; }

/// The columns of a tensor that a part of an op writes. The facts of op kinds cover rows only.
enum class Columns : std::uint8_t {
  all,      ///< all columns: it cannot be cut along them
  same,     ///< the same columns of every operand: it works element by element
  product,  ///< all of the first operand, the same columns of the others: y = x W + b
};

template <class Kind, class... Kinds>
inline constexpr bool is_one_of = (std::is_same_v<Kind, Kinds> || ...);

Columns columns_of(const Op& op) {
  return std::visit(
      []<class Kind>(const Kind&) {
        if (is_one_of<Kind, moe::Linear, moe::ExpertLinear>) return Columns::product;
        if (is_one_of<Kind, moe::Add, moe::Gelu, moe::Relu, moe::GatedSilu, moe::ClampedSwiglu,
                      moe::Scale, moe::ScaleRows, moe::QueryKeyNorm, moe::Sigmoid, moe::RoundBf16,
                      moe::AllToAll, moe::GatherRows>) {
          return Columns::same;
        }
        return Columns::all;
      },
      static_cast<const moe::AnyOpKind&>(op.kind));
}

bool all_whole(const Op& op) {
  const auto whole = [](const Use& use) { return moe::is_whole(use.slice); };
  return std::all_of(op.reads.begin(), op.reads.end(), whole) &&
         std::all_of(op.writes.begin(), op.writes.end(), whole);
}

/// An activation that the op reads whole, with the tokens of all parts.
const Use* whole_activation(const Program& program, const Op& op) {
  for (std::size_t i = 0; i < op.reads.size(); ++i) {
    const Tensor& tensor = tensor_at(program, op.reads[i]);
    if (moe::facts_of(op).reads.at(i) == Cut::whole && tensor.role == moe::Role::activation) {
      return &op.reads[i];
    }
  }
  return nullptr;
}

/// The axis of an operand in a part of the batch; empty where no axis is possible.
AxisSet axis_in_part(const Program& program, const Op& op, const Use& use, Cut cut, bool written) {
  const Tensor& tensor = tensor_at(program, use);
  if (is_routed(tensor)) return {Axis::irregular};
  if (follows_rows(cut)) return {Axis::batch};
  // A tensor that a part reads whole is the same for all parts, or belongs to the part.
  const AxisSet own =
      tensor.role == moe::Role::activation ? AxisSet{Axis::irregular} : AxisSet{Axis::none};
  if (!written || cut == Cut::sum) return own;
  // A gate and the exchange of counts treat a part as they treat all tokens.
  if (moe::describes_copies(op)) return own;
  const bool same_for_all = whole_activation(program, op) == nullptr;
  return same_for_all || tensor.role == moe::Role::gradient ? AxisSet{Axis::none} : AxisSet{};
}

template <class AxisOf>
AxisMode mode_of(const Op& op, OpCut cut, const AxisOf& axis_of) {
  const moe::OpFacts& facts = moe::facts_of(op);
  AxisMode mode{cut, {}};
  for (std::size_t i = 0; i < op.reads.size(); ++i) {
    mode.operands.push_back(axis_of(op.reads[i], facts.reads.at(i), i, false));
  }
  for (std::size_t i = 0; i < op.writes.size(); ++i) {
    mode.operands.push_back(axis_of(op.writes[i], facts.writes.at(i), i, true));
  }
  return mode;
}

bool can_hold(const AxisMode& mode) {
  return std::none_of(mode.operands.begin(), mode.operands.end(),
                      [](AxisSet axes) { return axes.empty(); });
}

/// True where a part of the batch is less work than all of it.
bool has_rows(const Program& program, const Op& op) {
  const moe::OpFacts& facts = moe::facts_of(op);
  for (std::size_t i = 0; i < op.reads.size(); ++i) {
    if (follows_rows(facts.reads.at(i))) return true;
  }
  for (std::size_t i = 0; i < op.writes.size(); ++i) {
    if (follows_rows(facts.writes.at(i))) return true;
  }
  return moe::uses_routed_rows(program, op) || moe::describes_copies(op);
}

/// The mode of a gate that needs the whole batch: it chooses for all tokens and deals this out.
AxisMode dealing_mode(const Op& op) {
  constexpr std::size_t of_tokens = 3;  // expert, weight and slot; the counts follow
  return mode_of(op, OpCut::dealt, [](const Use&, Cut, std::size_t i, bool written) {
    if (!written) return AxisSet{Axis::none};
    return i < of_tokens ? AxisSet{Axis::batch} : AxisSet{Axis::irregular};
  });
}

/// True for an op that is whole whatever the axes of its operands.
bool is_left_whole(const Program& program, const Op& op, const AxisScope& scope) {
  const bool in_parts = moe::uses_routed_rows(program, op) || moe::counts_of(op) != nullptr;
  return op.stage != scope.stage ||
         (op.layer != scope.layer && moe::belongs_to_routing(program, op)) ||
         (moe::is_communication(op) && !in_parts) || !all_whole(op);
}

}  // namespace

AxisSet possible_axes(const Program& program, moe::TensorId id, const AxisScope& scope) {
  const Tensor& tensor = program.tensors[id];
  AxisSet axes = kAllAxes;
  const auto only_if = [&](bool may, Axis axis) {
    if (!may) axes.remove(axis);
  };
  const bool activation = tensor.role == moe::Role::activation, routed = is_routed(tensor);
  const bool of_layer = routed && tensor.layer == scope.layer;
  const bool whole_sequences = moe::sequences_of(program) % scope.parts == 0;
  only_if((activation || tensor.role == moe::Role::parameter) && tensor.columns % scope.parts == 0,
          Axis::columns);
  only_if((activation || tensor.role == moe::Role::input) && !routed && whole_sequences &&
              tensor.rows % scope.parts == 0,
          Axis::batch);
  only_if(activation && (of_layer || !routed) && whole_sequences, Axis::irregular);
  // Without a capacity as many rows are sent as there are tokens, or more.
  const std::int64_t rows =
      tensor.rows > 0 ? tensor.rows : tensor_at(program, {program.tokens.front()}).rows;
  only_if(of_layer && rows >= scope.parts, Axis::capacity);
  return axes;
}

std::vector<AxisMode> cut_modes(const Program& program, const Op& op, const AxisScope& scope) {
  if (is_left_whole(program, op, scope)) return {};
  if (moe::refusal_to_cut(op)) return {dealing_mode(op)};
  std::vector<AxisMode> modes;
  const auto add = [&](AxisMode mode) {
    if (can_hold(mode)) modes.push_back(std::move(mode));
  };
  if (has_rows(program, op)) {
    add(mode_of(op, OpCut::batch, [&](const Use& use, Cut cut, std::size_t, bool written) {
      return axis_in_part(program, op, use, cut, written);
    }));
  }
  if (moe::follows_routed_rows(program, op)) {
    add(mode_of(op, OpCut::capacity, [&](const Use& use, Cut, std::size_t, bool) {
      return is_routed(tensor_at(program, use)) ? AxisSet{Axis::capacity} : AxisSet{Axis::none};
    }));
  }
  if (const Columns columns = columns_of(op); columns != Columns::all) {
    add(mode_of(op, OpCut::columns, [&](const Use&, Cut, std::size_t i, bool written) {
      const bool factor = columns == Columns::product && i == 0 && !written;
      return factor ? AxisSet{Axis::none} : AxisSet{Axis::columns};
    }));
  }
  return modes;
}

bool hands_on(const Op& writer, std::size_t position) {
  return moe::facts_of(writer).writes.at(position) == Cut::sum || moe::counts_of(writer) != nullptr;
}

}  // namespace tuner
