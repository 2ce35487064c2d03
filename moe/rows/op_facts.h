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

/// The type of an operand's numbers, where activations may be stored in fewer bits than sums need.
enum class Kept : std::uint8_t {
  stored,    ///< the type of the Program's activations and of most parameters
  wide,      ///< wide_of() that type: sums, statistics, losses, gradients of parameters
  either,    ///< any type: the op moves bytes, or writes what its tensor says
  integers,  ///< i32
};

/// The facts of one operand.
struct Operand {
  Cut cut = Cut::whole;
  Kept kept = Kept::stored;

  constexpr Operand() = default;
  constexpr Operand(Cut cut, Kept kept = Kept::stored) : cut(cut), kept(kept) {}
};
constexpr Operand wide(Cut cut) { return {cut, Kept::wide}; }
constexpr Operand either(Cut cut) { return {cut, Kept::either}; }
constexpr Operand integers(Cut cut) { return {cut, Kept::integers}; }

/// The operands that an op reads or writes, by position. The last ones may be absent (a bias).
class Operands {
 public:
  constexpr Operands(std::initializer_list<Operand> operands) {
    if (operands.size() > operands_.size()) throw std::length_error("an op of so many operands");
    for (const Operand operand : operands) operands_[most_++] = operand;
  }
  /// Any number of operands, all alike.
  static constexpr Operands any_number(Operand operand) {
    Operands operands{operand};
    operands.unbounded_ = true;
    return operands;
  }

  constexpr bool allow(std::size_t count) const { return unbounded_ || count <= most_; }
  constexpr std::size_t most() const { return most_; }
  constexpr Cut at(std::size_t position) const { return operand(position).cut; }
  constexpr Kept kept(std::size_t position) const { return operand(position).kept; }
  constexpr bool contain(Cut cut) const {
    for (std::size_t i = 0; i < most_; ++i) {
      if (operands_[i].cut == cut) return true;
    }
    return false;
  }
  constexpr bool contain(Kept kept) const {
    for (std::size_t i = 0; i < most_; ++i) {
      if (operands_[i].kept == kept) return true;
    }
    return false;
  }

 private:
  constexpr Operand operand(std::size_t position) const {
    return unbounded_ ? operands_[0] : position < most_ ? operands_[position] : Operand{};
  }

  std::array<Operand, 12> operands_{};
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

  /// True where the op has an operand in the type of activations, or in any: it computes or moves
  /// what is stored. All of the others is wide, whatever is stored.
  constexpr bool stores() const {
    for (const Operands* operands : {&reads, &writes}) {
      if (operands->contain(Kept::stored) || operands->contain(Kept::either)) return true;
    }
    return false;
  }
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
