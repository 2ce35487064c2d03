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

/// What of replicated experts goes between ranks.
enum class Transfer : std::uint8_t {
  send,       ///< parameters to those who compute them (Trans)
  give_back,  ///< gradients home (Agg)
};

/// A share of a transfer and where it stands.
struct TransferPiece {
  int share = 1;  ///< of the rows of every expert, about as shares are to each other
  /// Right behind this of block `at`: of its forward phase in the first micro-batch, or of its backward phase in the
  /// last. None: where the transfer stood.
  std::optional<ExchangePlace> behind;
  int at = 0;
  friend auto operator<=>(const TransferPiece&, const TransferPiece&) = default;
};

/// Send the replicated experts of one MoE layer, or bring their gradients home, in pieces beside what other blocks
/// compute.                [Pro-Prophet Alg. 2: Trans beside FEC and FNEC of the block before, Agg beside its BEC and BNEC]
struct HoistTransfer {
  static constexpr std::string_view name = "hoist_transfer";
  static constexpr bool changes_results = false;
  int layer = 0;
  Transfer transfer = Transfer::send;
  std::vector<TransferPiece> pieces;  ///< in the order in which they stand
  friend auto operator<=>(const HoistTransfer&, const HoistTransfer&) = default;
  static HoistTransfer read(const InputObject& input);
};
void write(nlohmann::json& object, const HoistTransfer& hoisting);
std::string subject(const HoistTransfer& hoisting);

/// Runs after what moves ops of backward, before place_allreduce and assign_stream: on the stream of computation pieces
/// only stand elsewhere, on one of their own they run beside it. What is carried out with what is sent, and what comes
/// home, is the same; gradients are added where they were, once all pieces are there.
///
/// Throws std::invalid_argument where the layer has no replicas, there are no pieces or more than rows, a share is less
/// than 1, a place is not there or of another pipeline stage, a piece would stand behind what uses it or before what makes
/// it, and where pieces do not stand in order.
Program apply(Program program, const HoistTransfer& hoisting);

}  // namespace moe
