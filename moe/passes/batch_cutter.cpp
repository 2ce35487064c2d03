#include "moe/passes/batch_cutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "moe/errors.h"
#include "moe/passes/gate_choice.h"

namespace moe {

void refuse_range(int layer, std::string_view why, std::string way_out, std::string op) {
  throw Refusal(fmt::format("partition_range: layer {}", layer), why, std::move(way_out),
                {std::move(op), layer});
}

BatchCutter::BatchCutter(Program& program, int layer, int parts)
    : program_(program), layer_(layer), parts_(parts) {
  padded_ = std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return op.layer == layer && std::holds_alternative<GatherLoads>(op.kind);
  });
}

std::optional<std::string> BatchCutter::refusal_to_cut(const Op& op) const {
  bool cut = describes_copies(op);
  std::optional<std::string> found;
  const auto look = [&](const std::vector<Use>& uses, const Operands& operands, bool written) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Share share = share_of_operand(op, uses[i], operands.at(i), written);
      if (share == Share::unknown && !found) found = tensor_of(uses[i]).name;
      cut = cut || share == Share::rows || tensor_of(uses[i]).rows_are != Rows::fixed;
    }
  };
  look(op.reads, facts_of(op).reads, false);
  look(op.writes, facts_of(op).writes, true);
  if (!found && !cut) found = op.name;
  if (!found && !uses_routed_rows(program_, op) && counts_of(op) == nullptr &&
      is_communication(op)) {
    found = op.name;
  }
  return found;
}

void BatchCutter::own_results(const Op& op) {
  const OpFacts& facts = facts_of(op);
  for (std::size_t i = 0; i < op.writes.size(); ++i) {
    const Tensor& tensor = tensor_of(op.writes[i]);
    const bool whole = facts.writes.at(i) == Cut::whole || facts.writes.at(i) == Cut::sum;
    if (tensor.rows_are != Rows::fixed || (whole && tensor.role == Role::activation)) {
      own(op.writes[i].tensor);
      const bool of_its_copies =
          deals_out_copies(op) || std::holds_alternative<PadOffsets>(op.kind);
      if (facts.writes.at(i) == Cut::whole && of_its_copies) {
        of_one_part_.insert(op.writes[i].tensor);
      }
    }
  }
}

Op BatchCutter::part_of(Op op, int part) const {
  const OpFacts& facts = facts_of(op);
  op.part = {part, parts_};
  cut_uses(op.reads, facts.reads, op.part);
  cut_uses(op.writes, facts.writes, op.part);
  draw_further(op);
  pad_less(op);
  if (part == 0) return op;
  // Where it adds to tensors that parts have of their own, a part goes on from the part before
  // it.
  const std::size_t reads = op.reads.size();
  op = accumulating(std::move(op));
  for (std::size_t i = reads; i < op.reads.size(); ++i) {
    for (const auto& [whole, own] : own_) {
      if (own[part] == op.reads[i].tensor) {
        op.reads[i].tensor = own[part - 1];
      }
    }
  }
  return op;
}

void BatchCutter::use_last(Op& op) const {
  for (auto* uses : {&op.reads, &op.writes}) {
    for (Use& use : *uses) {
      if (const auto own = own_.find(use.tensor); own != own_.end()) {
        if (of_one_part_.contains(use.tensor)) {
          refuse_range(layer_,
                       fmt::format("\"{}\" needs {} of all parts", op.name, tensor_of(use).name),
                       kSplitRows, op.name);
        }
        use.tensor = own->second.back();
      }
    }
  }
}

BatchCutter::Share BatchCutter::share_of_operand(const Op& op, const Use& use, Cut cut,
                                                 bool written) const {
  const Tensor& tensor = tensor_of(use);
  if (tensor.rows_are != Rows::fixed) return tensor.layer == layer_ ? Share::own : Share::unknown;
  if (!is_whole(use.slice)) return Share::unknown;
  if (owns(use.tensor)) return Share::own;
  switch (cut) {
    case Cut::rows:
    case Cut::tokens:
      return tensor.role == Role::activation || tensor.role == Role::input
                 ? tensor.rows % parts_ == 0 ? Share::rows : Share::unknown
                 : Share::unknown;
    case Cut::sum:
      return Share::none;
    case Cut::whole:
      break;
  }
  // The gate and the exchange of counts treat a part as they treat all tokens.
  if (written) {
    const bool of_each_part = describes_copies(op) || tensor.role == Role::gradient;
    return of_each_part || does_not_see_tokens(op) ? Share::none : Share::unknown;
  }
  return tensor.role == Role::activation ? Share::unknown : Share::none;
}

/// True where all operands that the op reads as a whole live over iterations: the operands that
/// it writes as a whole are then the same for every part.
bool BatchCutter::does_not_see_tokens(const Op& op) const {
  const OpFacts& facts = facts_of(op);
  for (std::size_t i = 0; i < op.reads.size(); ++i) {
    if (facts.reads.at(i) == Cut::whole && tensor_of(op.reads[i]).role == Role::activation) {
      return false;
    }
  }
  return true;
}

void BatchCutter::own(TensorId whole) {
  if (owns(whole)) return;
  std::vector<TensorId> own;
  const Tensor first = program_.tensors[whole];
  for (int part = 0; part < parts_; ++part) {
    Tensor tensor = first;
    tensor.name += fmt::format("[part {}/{}]", part + 1, parts_);
    tensor.part = part;
    if (tensor.rows_are != Rows::fixed) {
      // Any part may fill an expert, so the memory that a part needs depends on its routing,
      // unless rows are padded.
      const std::int64_t padded = padded_ ? rows_of_part(tensor.rows_per_pair) : 0;
      tensor.rows = padded_ ? tensor.rows / tensor.rows_per_pair * padded : 0;
      if (padded_) tensor.rows_per_pair = padded;
    }
    if (part == 0) {
      own.push_back(whole);
      program_.tensors[whole] = std::move(tensor);
    } else {
      own.push_back(static_cast<TensorId>(program_.tensors.size()));
      program_.tensors.push_back(std::move(tensor));
    }
  }
  own_.emplace(whole, std::move(own));
}

void BatchCutter::cut_uses(std::vector<Use>& uses, const Operands& operands, Slice part) const {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (const auto own = own_.find(uses[i].tensor); own != own_.end()) {
      uses[i].tensor = own->second[part.index];
    } else if (operands.at(i) == Cut::rows || operands.at(i) == Cut::tokens) {
      uses[i].slice = part;
    }
  }
}

/// Random numbers are drawn by the place of a token in the global batch.
void BatchCutter::draw_further(Op& op) const {
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.draw; }) {
          const std::int64_t tokens = tensor_of(op.writes.front()).rows;
          kind.draw.first_token += slice_begin(tokens, op.part);
        }
      },
      op.kind);
}

/// The rows that every rank sends every expert in a part, of whose tokens each has at most one
/// copy for an expert.
std::int64_t BatchCutter::rows_of_part(std::int64_t rows_per_pair) const {
  return std::min(rows_per_pair, tensor_of({program_.tokens.front()}).rows / parts_);
}
void BatchCutter::pad_less(Op& op) const {
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.rows_per_pair; }) {
          kind.rows_per_pair = rows_of_part(kind.rows_per_pair);
        }
      },
      op.kind);
}

}  // namespace moe
