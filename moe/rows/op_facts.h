#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

/// The facts that every kind of op states about itself. Every alternative of OpKind has
///   static constexpr OpFacts facts{...};    every field, there are no defaults
///   Work work(const OpSizes&) const;        FLOPs and bytes on one rank
/// and, if it communicates,
///   GroupKind group                         which ranks take part (a field or a constant)
///   std::vector<std::int64_t> bytes_to_peers(const OpSizes&) const;
/// A kind that lacks one of these does not compile (op.h).
namespace moe {

/// The part of the program that carries an op out.
enum class Executor : std::uint8_t {
  kernel,        ///< the Backend, on the op's stream (moe/kernels)
  communicator,  ///< a Communicator of the op's group, on the op's stream (moe/run/collectives)
  host,          ///< the thread that drives the iteration (moe/run/host_ops)
};

/// The resource that an op keeps busy while it runs.
enum class Activity : std::uint8_t { computation, communication, copy };
std::string_view activity_name(Activity activity);

/// The quantity that an op's time is proportional to.
enum class CostUnit : std::uint8_t {
  flops,       ///< matrix products
  bytes,       ///< everything else that computes: memory read and written
  wire_bytes,  ///< communication
};

/// The way in which an operand is shared when its op is cut into chunks of the routed rows
/// (Op::chunk) or into parts of the batch (Op::part). "Share" below means either.
enum class Cut : std::uint8_t {
  /// Read: every share needs all of the operand, so an op that reads routed rows this way cannot be
  /// cut into chunks. Written: every share writes all of the operand, either the same values or
  /// those of the share alone (SelectExperts).
  whole,
  rows,  ///< each share uses its own rows only
  /// A part of the batch, which is made of whole sequences, uses its own rows only; a chunk of the
  /// routed rows needs all rows.
  tokens,
  sum,  ///< written: every share after the first adds to it, and so reads it too
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

/// The facts of one kind of op (see the head of this file).
struct OpFacts {
  std::string_view name;  ///< the name in snake case: "expert_linear_input_gradient"
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

/// The work of one op on one rank. Costs, rooflines and bandwidths are all worked out from it.
struct Work {
  double flops = 0;               ///< a multiplication and an addition count as two
  std::int64_t memory_bytes = 0;  ///< read plus written, each tensor slice once per use
  std::int64_t wire_bytes = 0;    ///< sent to other ranks
  std::int64_t calls = 1;         ///< GEMMs or kernels launched one after the other
  /// The same on a GPU, for ops that do several of them in one launch there; 0: as many as `calls`.
  std::int64_t gpu_calls = 0;
};

struct OpSizes;  // op_sizes.h

}  // namespace moe
