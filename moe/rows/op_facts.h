#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

/// What an op kind says of itself, whatever its sizes. Every alternative of OpKind has
///   static constexpr OpFacts facts{...};           all of it, there is no default to fall back to
///   Work work(const OpSizes&) const;               FLOPs and bytes on one rank
/// and where a Communicator carries it out, or the host with one,
///   GroupKind group                                whose members take part (a field or a constant)
///   std::vector<std::int64_t> bytes_to_peers(const OpSizes&) const;
/// What is missing does not compile (op.h).
namespace moe {

/// Who carries an op out.
enum class Executor : std::uint8_t {
  kernel,        ///< the Backend, on the op's stream (moe/kernels)
  communicator,  ///< a Communicator of the op's group, on the op's stream (moe/run/collectives)
  host,          ///< the thread that drives the iteration (moe/run/host_ops)
};

/// What an op keeps busy while it runs.
enum class Activity : std::uint8_t { computation, communication, copy };
std::string_view activity_name(Activity activity);

/// What an op's time is proportional to.
enum class CostUnit : std::uint8_t {
  flops,       ///< matrix products
  bytes,       ///< everything else that computes: memory read and written
  wire_bytes,  ///< communication
};

/// How one operand behaves when its op is cut into slices of rows: along the routed rows (Op::chunk) or along
/// the batch (Op::part).
enum class Cut : std::uint8_t {
  /// Every piece needs all of it: an op that uses routed rows so cannot be cut along them. Written by an op whose
  /// other operands can be cut: the same from every piece, or of the piece alone (SelectExperts).
  whole,
  rows,    ///< a piece uses its own rows only
  tokens,  ///< a piece of the batch, made of whole sequences, uses its own rows only; one of routed rows needs all
  sum,     ///< written: every piece after the first adds to it, and so reads it too
};

/// The cuts of an op's reads or writes by position. The last operands may be absent (a bias).
class Operands {
 public:
  constexpr Operands(std::initializer_list<Cut> cuts) {
    if (cuts.size() > cuts_.size()) throw std::length_error("an op of so many operands");
    for (const Cut cut : cuts) cuts_[most_++] = cut;
  }
  /// Any number of operands, all alike.
  static constexpr Operands any_number(Cut cut) {
    Operands operands{cut};
    operands.unbounded_ = true;
    return operands;
  }

  constexpr bool allow(std::size_t count) const { return unbounded_ || count <= most_; }
  constexpr std::size_t most() const { return most_; }
  constexpr Cut at(std::size_t position) const {
    return unbounded_ ? cuts_[0] : position < most_ ? cuts_[position] : Cut::whole;
  }
  constexpr bool contain(Cut cut) const {
    for (std::size_t i = 0; i < most_; ++i) {
      if (cuts_[i] == cut) return true;
    }
    return false;
  }

 private:
  std::array<Cut, 12> cuts_{};
  std::size_t most_ = 0;
  bool unbounded_ = false;
};

struct OpFacts {
  std::string_view name;  ///< snake case: "expert_linear_input_gradient"
  Executor executor;
  Activity activity;
  CostUnit unit;
  Operands reads;
  Operands writes;

  constexpr OpFacts(std::string_view name, Executor executor, Activity activity, CostUnit unit,
                    Operands reads, Operands writes)
      : name(name),
        executor(executor),
        activity(activity),
        unit(unit),
        reads(reads),
        writes(writes) {}
};

constexpr OpFacts kernel_op(std::string_view name, CostUnit unit, Operands reads, Operands writes) {
  return {name, Executor::kernel, Activity::computation, unit, reads, writes};
}
constexpr OpFacts collective_op(std::string_view name, Operands reads, Operands writes) {
  return {name,  Executor::communicator, Activity::communication, CostUnit::wire_bytes, reads,
          writes};
}

/// What one op has to do on one rank: the single thing that costs, rooflines and bandwidths read.
struct Work {
  double flops = 0;               ///< multiply and add counted as two
  std::int64_t memory_bytes = 0;  ///< read plus written, each tensor slice once per use
  std::int64_t wire_bytes = 0;    ///< communication: sent to other ranks
  std::int64_t calls = 1;         ///< GEMMs or kernels launched one after the other
};

struct OpSizes;  // op_sizes.h

}  // namespace moe
