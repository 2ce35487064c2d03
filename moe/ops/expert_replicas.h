#pragma once

#include <vector>

#include "moe/rows/expert_moves.h"
#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"
#include "moe/rows/tensor.h"

/// Ops by which members of an expert group compute experts of each other for an iteration (passes/replicate_experts.h):
/// D experts of a rank, G replicas at most, N gradients at most that come home to one, of n rows each.
namespace moe {

/// Whose experts are where, of a group whose members have as many each.
struct PlacedExperts {
  ExpertPlacement placement;
  int local_experts = 1;  ///< D
  ExpertSlots slots(int members) const {
    return expert_slots(placement, local_experts * members, members);
  }
};

/// parameters[D*n,c]..., (what is written, where a piece came before) -> replicas[G*n,c]...: every rank gets the
/// parameters of its replicas, of each the share of rows; empty slots stay as they are.  [Pro-Prophet's Trans]
struct SendExperts : PlacedExperts {
  static constexpr OpFacts facts = collective_op("send_experts", Operands::any_number(Cut::whole),
                                                 Operands::any_number(Cut::whole));
  static constexpr GroupKind group = GroupKind::expert;
  Slice share{};
  std::vector<ExpertMove> moves(int members) const { return moves_to_replicas(slots(members)); }
  /// Rows of an expert in a tensor of so many that it reads.
  std::int64_t block_rows(std::int64_t rows, int) const { return rows / local_experts; }
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// gradients of replicas[G*n,c]..., (what is written, where a piece came before) -> returned[N*n,c]...: every rank gets
/// what others have of the gradients of its experts, the share of rows.  [Pro-Prophet's Agg]
struct ReturnGradients : PlacedExperts {
  static constexpr OpFacts facts = collective_op(
      "return_gradients", Operands::any_number(Cut::whole), Operands::any_number(Cut::whole));
  static constexpr GroupKind group = GroupKind::expert;
  Slice share{};
  std::vector<ExpertMove> moves(int members) const { return moves_home(slots(members)); }
  std::int64_t block_rows(std::int64_t rows, int members) const {
    return rows / slots(members).replica_slots;
  }
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// returned[N*n,c]..., gradients[D*n,c]... -> the same gradients: each plus what came home of it, by ascending holder
struct AddReturned : PlacedExperts {
  static constexpr OpFacts facts =
      kernel_op("add_returned", CostUnit::bytes, Operands::any_number(Cut::whole),
                Operands::any_number(Cut::whole));
  /// By returned block: which expert of this member it is of.
  std::vector<int> blocks(int members, int member) const {
    return returned_to(slots(members), member);
  }
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
