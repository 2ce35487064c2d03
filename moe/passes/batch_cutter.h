#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

/// How the ops of a range are cut along the batch (partition_range.h).
namespace moe {

/// Throws the Refusal of a partition_range of this layer.
[[noreturn]] void refuse_range(int layer, std::string_view why, std::string way_out,
                               std::string op = {});

inline constexpr const char* kSplitRows =
    "expected pipeline_split of the layer, which cuts it along the routed rows";

/// Cuts ops of one micro-batch into parts, and keeps track of the tensors that every part has of
/// its own. The Program must outlive it.
class BatchCutter {
 public:
  BatchCutter(Program& program, int layer, int parts);

  /// Empty where the op can be cut into parts, otherwise the operand that prevents it.
  std::optional<std::string> refusal_to_cut(const Op& op) const;
  /// Gives every part tensors of its own for the whole operands that this op, which is to be cut,
  /// writes.
  void own_results(const Op& op);
  Op part_of(Op op, int part) const;
  /// Makes an op that is not cut use the tensors of the last part, which has gone on from all
  /// others or has the same values. Throws Refusal where neither holds.
  void use_last(Op& op) const;

 private:
  /// How the parts of a cut op use an operand.
  enum class Share : std::uint8_t {
    none,     ///< every part uses all of it
    rows,     ///< every part uses its own rows of it
    own,      ///< every part has a tensor of its own
    unknown,  ///< it cannot be cut into parts
  };

  const Tensor& tensor_of(const Use& use) const { return program_.tensors[use.tensor]; }
  bool owns(TensorId tensor) const { return own_.contains(tensor); }
  Share share_of_operand(const Op& op, const Use& use, Cut cut, bool written) const;
  bool does_not_see_tokens(const Op& op) const;
  void own(TensorId whole);
  void cut_uses(std::vector<Use>& uses, const Operands& operands, Slice part) const;
  void draw_further(Op& op) const;
  std::int64_t rows_of_part(std::int64_t rows_per_pair) const;
  void pad_less(Op& op) const;

  Program& program_;
  int layer_, parts_;
  bool padded_ = false;                            ///< the rows of the layer
  std::map<TensorId, std::vector<TensorId>> own_;  ///< [the tensor that the whole op had][part]
  std::set<TensorId> of_one_part_;                 ///< tensors of which a part holds only its share
};

}  // namespace moe
