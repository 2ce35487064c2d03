#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace moe {

/// The division of a job's ranks: the degree of every kind of parallelism.
///
/// The ranks are first divided into `pipeline` stages of neighbours; each stage has some of the
/// blocks. The R ranks of a stage are then divided twice, once for the experts and once for the
/// dense layers. Every rank of a stage has its own tokens.
///   Experts: data x expert x expert_sharded = R, and rank = (d * expert + e) * expert_sharded + s.
///     Ranks that share an expert are neighbours. Next come the ranks that the experts are spread
///     over. The copies of all experts are farthest apart.
///   Dense layers: `tensor` neighbours share every matrix; the R / tensor such groups are copies.
/// FSMoE's layouts have tensor = expert_sharded (its N_MP = N_ESP).
struct Layout {
  int data = 1;            ///< dp: copies of the experts
  int expert = 1;          ///< ep: ranks that the experts are spread over
  int expert_sharded = 1;  ///< esp: ranks that every expert is cut over, along its hidden width
  int tensor = 1;          ///< tp: ranks that attention and dense networks are cut over
  int pipeline = 1;        ///< pp: stages that the blocks are spread over
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The help text of --layout.
inline constexpr const char* kLayoutHelp =
    "how ranks are divided: dp=COPIES of the experts, ep=RANKS that experts are spread over, "
    "esp=RANKS that every expert is cut over, tp=RANKS that attention and dense networks are cut "
    "over, pp=STAGES that the blocks are spread over [default: ep=all]";

/// The divisors of a number, ascending.
std::vector<int> divisors(int number);

int rank_count(const Layout& layout);
/// Ranks of one stage.
int stage_ranks(const Layout& layout);

/// "dp=2,ep=2,esp=1,tp=1,pp=1"
std::string to_text(const Layout& layout);
/// Reads what to_text() writes, of any number of ranks. A degree that is absent is 1. Throws Refusal
/// with what is none.
Layout layout_from_text(std::string_view text);
/// to_text() without the degrees that are 1; ep is always named: "dp=2,ep=2"
std::string short_text(const Layout& layout);

/// All layouts of `ranks` ranks whose tp divides that of `wanted`, those nearest to `wanted` first.
/// The distance of two layouts is the sum of |log(ratio)| over their degrees.
std::vector<Layout> nearest_layouts(const Layout& wanted, int ranks);

using LayoutFits = std::function<bool(const Layout&)>;

/// Reads a layout of `ranks` ranks as people write it: "dp=2,ep=2", with the keys in any order. A
/// degree that is absent is 1, except ep, which then takes all ranks that are left; "" spreads the
/// experts over all ranks. Throws Refusal with the key and its value, and where tp does not divide
/// the ranks of a stage. Where the degrees do not make `ranks` ranks, it names the nearest layouts
/// that do (only those that satisfy `fits`, where there are any).
Layout parse_layout(std::string_view text, int ranks, const LayoutFits& fits = {});

}  // namespace moe
