#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/passes/exchange_place.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// The two transfers of replicated experts between ranks.
enum class Transfer : std::uint8_t {
  send,       ///< parameters, from the home to the holders of replicas (Trans)
  give_back,  ///< gradients, from the holders of replicas to the home (Agg)
};

/// A slice of a transfer and the place where it runs.
struct TransferSlice {
  /// Its share of the rows of every expert, in proportion to those of the other slices.
  int share = 1;
  /// Right after this place of block `at`: in the forward phase of the first micro-batch for a
  /// send, in the backward phase of the last one for a return. None: where the whole transfer was.
  std::optional<ExchangePlace> after;
  int at = 0;
  friend auto operator<=>(const TransferSlice&, const TransferSlice&) = default;
};

/// Sends the replicated experts of one MoE layer, or returns their gradients, in slices while other
/// blocks compute. [Pro-Prophet Alg. 2: Trans runs during FEC and FNEC of the previous block, Agg
/// during its BEC and BNEC]
struct HoistTransfer {
  static constexpr std::string_view name = "hoist_transfer";
  static constexpr std::string_view description =
      "sends replicas, or brings their gradients home, among other blocks";
  static constexpr bool changes_results = false;
  int layer = 0;
  Transfer transfer = Transfer::send;
  std::vector<TransferSlice> slices;  ///< all slices, in the order in which they run
  friend auto operator<=>(const HoistTransfer&, const HoistTransfer&) = default;
  static HoistTransfer read(const InputObject& input);
};
void write(nlohmann::json& object, const HoistTransfer& hoisting);
std::string subject(const HoistTransfer& hoisting);

/// Runs after the decisions that move ops of backward, before place_allreduce and assign_stream. On
/// the compute stream the slices only change their place; on a stream of their own they run while
/// ops compute. The same parameters and gradients are sent. Gradients are added to those at home
/// where they were before, once all slices are there.
///
/// Throws Refusal where the layer has no replicas, where there are no slices or more
/// slices than rows, where a share is less than 1, where a place does not exist or is in another
/// pipeline stage, where a slice would run after an op that uses it or before an op that makes it,
/// and where the slices are not in order.
Program apply(Program program, const HoistTransfer& hoisting);

}  // namespace moe
