#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// All-reduces the gradients of one block (-1: of the parameters outside the blocks) in `slices`
/// slices, one after the other. Their sizes in bytes are in proportion to `shares`, as nearly as
/// whole rows allow. [FSMoE 5 and Lina reduce gradients in slices]
struct SliceAllReduce {
  static constexpr std::string_view name = "slice_allreduce";
  static constexpr std::string_view description =
      "cuts the all-reduce of a block's gradients into slices";
  static constexpr bool changes_results = false;
  int layer = 0;
  int slices = 1;
  std::vector<int> shares{};  ///< one for each slice; empty: all slices are equal
  friend auto operator<=>(const SliceAllReduce&, const SliceAllReduce&) = default;
  static SliceAllReduce read(const InputObject& input);
};
void write(nlohmann::json& object, const SliceAllReduce& slicing);
std::string subject(const SliceAllReduce& slicing);

/// The most slices of any block's gradients, however many rows they have.
inline constexpr int kMostSlices = 1024;

/// Runs after pipeline_split and before assign_stream. Every all-reduce of the layer becomes
/// `slices` all-reduces over the rows of its tensors in order; a row is never cut. Each sum is over
/// the same ranks as before: where a communicator adds in rank order, not a bit changes.
///
/// Throws Refusal where the layer reduces nothing or is sliced already, where shard_optimizer
/// reduces it to shares, where slices is not between 1 and the rows of its smallest all-reduce, or
/// more than kMostSlices, and where shares are not one number of at least 1 for each slice.
Program apply(Program program, const SliceAllReduce& slicing);
/// One after the other, in the time of one. Each is of another layer.
Program apply_all(Program program, std::span<const SliceAllReduce> layers);

}  // namespace moe
