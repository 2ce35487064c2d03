#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

/// Lancet's partition axes as a constraint satisfaction problem over plain numbers  [Lancet 5.2].
namespace tuner {

/// Along what the pieces of a tensor lie where the ops of a range are cut.
enum class Axis : std::uint8_t {
  none,      ///< all of it, the same for every piece: the paper's -1
  batch,     ///< rows of whole sequences: the paper's 0
  columns,   ///< the paper's 1
  capacity,  ///< routed rows, of every expert the same share
  /// of a part of the batch alone, as many rows as its own gate says: the paper's A_irr
  irregular,
  later,  ///< whole, and there only behind all pieces (OpCut::waits): ours
};
inline constexpr int kAxisCount = 6;

/// Axes that a tensor may have.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const Axis axis : axes) bits_ = static_cast<std::uint8_t>(bits_ | bit(axis));
  }
  constexpr bool has(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void remove(Axis axis) { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(axis)); }
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) {
    a.bits_ = static_cast<std::uint8_t>(a.bits_ & b.bits_);
    return a;
  }
  friend constexpr auto operator<=>(AxisSet, AxisSet) = default;

 private:
  static constexpr int bit(Axis axis) { return 1 << static_cast<int>(axis); }
  std::uint8_t bits_ = 0;
};
inline constexpr AxisSet kAllAxes{Axis::none,     Axis::batch,     Axis::columns,
                                  Axis::capacity, Axis::irregular, Axis::later};

/// What becomes of an op of the range.
enum class OpCut : std::uint8_t {
  batch,
  columns,
  capacity,
  dealt,  ///< it is whole, what it makes is dealt out to the parts: ours
  waits,  ///< it is whole, behind all pieces: ours
};

/// One way in which an op can be cut: the axes that its operands may have then.
struct AxisMode {
  OpCut cut = OpCut::batch;
  std::vector<AxisSet> operands;
  friend auto operator<=>(const AxisMode&, const AxisMode&) = default;
};
/// What an op says of the axes of its operands, F in the paper: one of the modes holds.
struct AxisConstraint {
  std::vector<int> variables;  ///< by operand
  std::vector<AxisMode> modes;
  friend auto operator<=>(const AxisConstraint&, const AxisConstraint&) = default;
};

/// A variable is a tensor, which so has one axis wherever it is used.
struct AxisProblem {
  std::vector<AxisSet> domains;             ///< by variable
  std::vector<AxisConstraint> constraints;  ///< by op, in issue order
  /// Where the first op waits, the second one does too: it overwrites what the first one uses.
  std::vector<std::pair<int, int>> waits_with;
  friend auto operator<=>(const AxisProblem&, const AxisProblem&) = default;
};
struct AxisSolution {
  std::vector<Axis> axes;  ///< by variable
  std::vector<int> modes;  ///< by op
  friend bool operator==(const AxisSolution&, const AxisSolution&) = default;
};

/// Of a search's tree. Propagation decides ranges of the models here at the first one, single ops
/// at 21 at most.
inline constexpr std::int64_t kMostNodes = 10'000;

/// A search came to its most nodes: whether there is a solution is not known.
struct SearchGivenUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// By Gecode. Of several solutions the one whose modes, op after op, stand first in their lists,
/// and then the axes in the order of Axis. None where nothing satisfies all constraints. Throws
/// SearchGivenUp after more than `most_nodes`.
std::optional<AxisSolution> solve(const AxisProblem& problem, std::int64_t most_nodes = kMostNodes);

}  // namespace tuner
