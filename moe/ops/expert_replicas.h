#pragma once

#include <vector>

#include "moe/rows/binding.h"
#include "moe/rows/expert_moves.h"
#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"
#include "moe/rows/tensor.h"

/// Ops for expert replicas (passes/replicate_experts.h). A rank has room for D experts, G slots for
/// replicas, and room for N gradients that are sent home; each has n rows in a tensor.
namespace moe {

/// The placement of the experts of a group, of which a member has room for D.
struct PlacedExperts {
  ExpertPlacement placement;
  int local_experts = 1;  ///< D
  int experts = 1;        ///< of all members
  /// Replicas that are chosen after the gate are those of the routed layer `at`. Throws
  /// std::out_of_range where its routing is not known.
  ExpertSlots slots(int members, const Binding& binding, const RoutedLayer& at) const {
    return is_late(placement) ? binding.layouts.at(at).slots
                              : expert_slots(placement, experts, members);
  }
  bool on_rings() const { return placement.route == ExpertRoute::ring; }
};

/// parameters[D*n,c]..., (the replicas, after the first slice) -> replicas[G*n,c]...: every rank
/// gets the parameters of its replicas, or a share of their rows. Empty slots keep their values. On
/// rings, ranks pass on the replicas that they get.
/// [Pro-Prophet's Trans]
struct SendExperts : PlacedExperts {
  static constexpr OpFacts facts = collective_op("send_experts", Operands::any_number(Cut::whole),
                                                 Operands::any_number(Cut::whole));
  static constexpr GroupKind group = GroupKind::expert;
  Slice share{};
  std::vector<ExpertMove> moves(const ExpertSlots& slots) const { return moves_to_replicas(slots); }
  /// The rows of an expert, in a tensor of `rows` rows that the op reads.
  std::int64_t block_rows(std::int64_t rows, const ExpertSlots&) const {
    return rows / local_experts;
  }
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// gradients of replicas[G*n,c]..., (returned, after the first slice) -> returned[N*n,c]...: every
/// rank gets the gradients of its experts that other ranks computed, or a share of their rows; on
/// rings their sum for each expert, added from the last holder to the first.
/// [Pro-Prophet's Agg]
struct ReturnGradients : PlacedExperts {
  static constexpr OpFacts facts =
      collective_op("return_gradients", Operands::any_number(wide(Cut::whole)),
                    Operands::any_number(wide(Cut::whole)));
  static constexpr GroupKind group = GroupKind::expert;
  Slice share{};
  std::vector<ExpertMove> moves(const ExpertSlots& slots) const { return moves_home(slots); }
  std::int64_t block_rows(std::int64_t rows, const ExpertSlots& slots) const {
    return rows / slots.replica_slots;
  }
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// returned[N*n,c]..., gradients[D*n,c]... -> the same gradients, to which those returned are
/// added, by ascending holder; on rings one sum for each expert
struct AddReturned : PlacedExperts {
  static constexpr OpFacts facts =
      kernel_op("add_returned", CostUnit::bytes, Operands::any_number(wide(Cut::whole)),
                Operands::any_number(wide(Cut::whole)));
  /// [returned block]: the slot of the expert of this member whose gradient it is.
  std::vector<int> blocks(const ExpertSlots& slots, int member) const {
    return returned_to(slots, member);
  }
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
