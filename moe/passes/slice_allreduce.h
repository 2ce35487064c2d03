#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Reduce the gradients of one block (-1: of what lies outside the blocks) in `pieces` one after the other, of bytes
/// about as `shares` are to each other.  [FSMoE 5 and Lina reduce gradients in pieces]
struct SliceAllReduce {
  static constexpr std::string_view name = "slice_allreduce";
  static constexpr bool changes_results = false;
  int layer = 0;
  int pieces = 1;
  std::vector<int> shares{};  ///< as many as pieces; empty: all alike
  friend auto operator<=>(const SliceAllReduce&, const SliceAllReduce&) = default;
  static SliceAllReduce read(const InputObject& input);
};
void write(nlohmann::json& object, const SliceAllReduce& slicing);
std::string subject(const SliceAllReduce& slicing);

/// Runs after pipeline_split and before assign_stream. Every all-reduce of the layer becomes `pieces`
/// that reduce its tensors' rows in order; a row is never cut. Each sum is over the same ranks as
/// before: where a communicator adds in rank order, not a bit changes.
///
/// Throws std::invalid_argument where the layer reduces nothing, is sliced already, pieces is not within 1
/// and the rows of the smallest of its all-reduces, or shares are not one of at least 1 for each.
Program apply(Program program, const SliceAllReduce& slicing);

}  // namespace moe
