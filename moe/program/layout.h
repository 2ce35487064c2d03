#pragma once

#include <string>
#include <string_view>

namespace moe {

/// How the ranks of a job are divided: the degrees of every kind of parallelism. Their product is the
/// number of ranks, and rank = (data * expert + e) * expert_sharded + s: the ranks that share an expert
/// are neighbours, then come those that share a set of experts, then the copies of all experts.
/// Dense parameters are copied to every rank.
struct Layout {
  int data = 1;            ///< dp: copies of the experts
  int expert = 1;          ///< ep: ranks that the experts are spread over
  int expert_sharded = 1;  ///< esp: ranks that every expert is cut over, along its hidden width
  friend bool operator==(const Layout&, const Layout&) = default;
};

int rank_count(const Layout& layout);

/// "dp=2,ep=2,esp=1"
std::string to_text(const Layout& layout);

/// A layout of `ranks` ranks as people write it: "dp=2,ep=2", keys in any order. What is absent is 1, but
/// ep is all that is left where it is absent; "" is all experts over all ranks. Throws
/// std::invalid_argument naming key and value, or, where the degrees do not make `ranks`, the nearest
/// layouts that do.
Layout parse_layout(std::string_view text, int ranks);

}  // namespace moe
