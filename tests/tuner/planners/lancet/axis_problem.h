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

/// The division of a tensor where the ops of a range are cut into parts.
enum class Axis : std::uint8_t {
  none,      ///< whole, and the same for every part: the paper's -1
  batch,     ///< rows of whole sequences: the paper's 0
  columns,   ///< the paper's 1
  capacity,  ///< routed rows, an equal share of every expert
  /// the rows of one part of the batch, as many as its own gate says: the paper's A_irr
  irregular,
  later,  ///< whole, and ready only after all parts (OpCut::waits): ours
};
inline constexpr int kAxisCount = 6;

/// A set of axes that a tensor may have.
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

/// The ways in which an op of the range is cut.
enum class OpCut : std::uint8_t {
  batch,
  columns,
  capacity,
  dealt,  ///< whole; its result is dealt out to the parts: ours
  waits,  ///< whole, after all parts: ours
};

/// One way to cut an op: the axes that its operands may have then.
struct AxisMode {
  OpCut cut = OpCut::batch;
  std::vector<AxisSet> operands;
  friend auto operator<=>(const AxisMode&, const AxisMode&) = default;
};
/// An op's rule for the axes of its operands, F in the paper: one of the modes holds.
struct AxisConstraint {
  std::vector<int> variables;  ///< [operand]
  std::vector<AxisMode> modes;
  friend auto operator<=>(const AxisConstraint&, const AxisConstraint&) = default;
};

/// A variable is a tensor, so that it has one axis wherever it is used.
struct AxisProblem {
  std::vector<AxisSet> domains;             ///< by variable
  std::vector<AxisConstraint> constraints;  ///< by op, in issue order
  /// Where the first op of a pair waits, the second waits too: it overwrites an operand of the
  /// first.
  std::vector<std::pair<int, int>> waits_with;
  friend auto operator<=>(const AxisProblem&, const AxisProblem&) = default;
};
struct AxisSolution {
  std::vector<Axis> axes;  ///< by variable
  std::vector<int> modes;  ///< by op
  friend bool operator==(const AxisSolution&, const AxisSolution&) = default;
};

/// The most nodes of a search's tree. For the models here propagation decides a range at the first
/// node, a single op after 21 at most.
inline constexpr std::int64_t kMostNodes = 10'000;

/// A search came to its most nodes. Whether there is a solution is not known.
struct SearchGivenUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Solved by Gecode. Of several solutions, gives the one whose modes, op by op, are first in their
/// lists, then the one whose axes come first in Axis. Empty where nothing satisfies all
/// constraints. Throws SearchGivenUp after more than `most_nodes`.
std::optional<AxisSolution> solve(const AxisProblem& problem, std::int64_t most_nodes = kMostNodes);

}  // namespace tuner
