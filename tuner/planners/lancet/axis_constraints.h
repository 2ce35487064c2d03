#pragma once

#include <string>

#include "moe/program/program.h"
#include "tuner/planners/lancet/axis_problem.h"

/// What op kinds and tensors say of partition axes [Lancet 5.2]: derived from what op kinds say of
/// themselves (moe/rows/op_facts.h) and from the roles of tensors.
namespace tuner {

/// A MoE layer whose rows may be cut, in how many pieces, on the pipeline stage that has it.
struct AxisScope {
  int layer = 0;
  int parts = 1;
  int stage = 0;
};

/// Axes that a tensor may have whatever uses it. Parameters and their gradients hold no tokens:
/// along columns or not at all. Rows are cut along the batch where the parts are of whole
/// sequences, routed rows of this layer alone irregularly or along capacity.
AxisSet possible_axes(const moe::Program& program, moe::TensorId tensor, const AxisScope& scope);

/// The ways in which an op can be cut, of a matrix product Y = X W by the paper
///   (a_X = batch, a_W = none, a_Y = batch) or (a_X = none, a_W = columns, a_Y = columns).
/// Operands: what it reads, then what it writes. A gate's choice that needs the whole batch is made
/// of all tokens, and what it makes is dealt out to the parts: (a_X = none, a_Y = batch, a_counts =
/// irregular). What neither works on rows nor can be carried out in parts (an all-gather) has no
/// way.
std::vector<AxisMode> cut_modes(const moe::Program& program, const moe::Op& op,
                                const AxisScope& scope);

/// Why an op can only be whole.
std::string why_whole(const moe::Program& program, const moe::Op& op, const AxisScope& scope);

/// What a block calls its tensor: "offsets" of "block1.offsets".
std::string name_in_block(const moe::Program& program, moe::TensorId tensor);

/// True where every part adds to what the ones before it wrote there, so that the last one's is the
/// whole.
bool hands_on(const moe::Op& writer, std::size_t position);

}  // namespace tuner
