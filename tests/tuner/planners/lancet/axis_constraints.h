#pragma once

#include <vector>

#include "moe/program/program.h"
#include "tests/tuner/planners/lancet/axis_problem.h"

/// The rules of op kinds and tensors for partition axes [Lancet 5.2]. They are derived from the
/// facts of op kinds (moe/rows/op_facts.h) and from the roles of tensors.
namespace tuner {

/// The MoE layer whose rows may be cut, the number of parts, and the layer's pipeline stage.
struct AxisScope {
  int layer = 0;
  int parts = 1;
  int stage = 0;
};

/// The axes that a tensor may have, whichever op uses it. Parameters and their gradients hold no
/// tokens: they are cut along columns or not at all. Rows are cut along the batch where parts are
/// whole sequences. Routed rows of this layer alone are cut irregularly or along capacity.
AxisSet possible_axes(const moe::Program& program, moe::TensorId tensor, const AxisScope& scope);

/// The ways to cut an op. For a matrix product Y = X W the paper has
///   (a_X = batch, a_W = none, a_Y = batch) or (a_X = none, a_W = columns, a_Y = columns).
/// Operands are the tensors that the op reads, then those that it writes. A gate that needs the
/// whole batch chooses for all tokens and deals its choice out to the parts: (a_X = none, a_Y =
/// batch, a_counts = irregular). No way is found for an op that neither works on rows nor can run
/// in parts (an all-gather).
std::vector<AxisMode> cut_modes(const moe::Program& program, const moe::Op& op,
                                const AxisScope& scope);

/// True where every part adds to the result of the parts before it, so that the last part's result
/// is the whole.
bool hands_on(const moe::Op& writer, std::size_t position);

}  // namespace tuner
