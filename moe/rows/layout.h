#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace moe {

/// How the ranks of a job are divided: the degrees of every kind of parallelism. First into `pipeline` stages
/// of neighbours, each of which has some of the blocks. The ranks of a stage are divided twice.
/// For the experts, data x expert x expert_sharded = ranks, and rank = (d * expert + e) * expert_sharded + s:
/// the ranks that share an expert are neighbours, then come those that the experts are spread over, then the
/// copies of all experts. For the dense layers, `tensor` neighbours share every matrix and the rest are copies;
/// FSMoE's layouts have tensor = expert_sharded (its N_MP = N_ESP). Every rank of a stage has its own tokens.
struct Layout {
  int data = 1;            ///< dp: copies of the experts
  int expert = 1;          ///< ep: ranks that the experts are spread over
  int expert_sharded = 1;  ///< esp: ranks that every expert is cut over, along its hidden width
  int tensor = 1;          ///< tp: ranks that attention and dense networks are cut over
  int pipeline = 1;        ///< pp: stages that the blocks are spread over
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// What people may write for a layout, for the help of --layout.
inline constexpr const char* kLayoutHelp =
    "how ranks are divided: dp=COPIES of the experts, ep=RANKS that experts are spread over, "
    "esp=RANKS that every expert is cut over, tp=RANKS that attention and dense networks are cut "
    "over, pp=STAGES that the blocks are spread over [ep=all]";

/// What a number of ranks can be divided by, ascending.
std::vector<int> divisors(int number);

int rank_count(const Layout& layout);
/// Ranks of one stage.
int stage_ranks(const Layout& layout);

/// "dp=2,ep=2,esp=1,tp=1,pp=1"
std::string to_text(const Layout& layout);
/// The same without degrees of 1, but for ep: "dp=2,ep=2"
std::string short_text(const Layout& layout);

/// Layouts of so many ranks, those that differ least from `wanted` first: by the sum of the logarithms of the
/// ratios of their degrees. All there are, with the tp of `wanted` or a divisor of it.
std::vector<Layout> nearest_layouts(const Layout& wanted, int ranks);

using LayoutFits = std::function<bool(const Layout&)>;

/// A layout of `ranks` ranks as people write it: "dp=2,ep=2", keys in any order. What is absent is 1, but
/// ep is all that is left where it is absent; "" is all experts over all ranks. Throws
/// std::invalid_argument naming key and value, or, where the degrees do not make `ranks`, the nearest
/// layouts that do, of these such as `fits` where there are any; tp has to divide the ranks of a stage.
Layout parse_layout(std::string_view text, int ranks, const LayoutFits& fits = {});

}  // namespace moe
