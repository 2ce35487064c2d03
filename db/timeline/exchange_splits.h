#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// Tokens that the gates of an iteration sent from each rank to each rank.
struct ExchangeTokens {
  std::map<int, std::vector<std::vector<std::int64_t>>> layers;  ///< [layer][from][to]
};

/// From the stored loads of the timeline's run and iteration, experts in order on `ranks` ranks
/// (db/experts_in_order.h). Empty where they are not stored, where an iteration has several
/// micro-batches, or where there are fewer experts than ranks.
ExchangeTokens exchange_tokens(const Connection& connection, const TimelineInfo& timeline,
                               int ranks);

/// The bytes that a rank sends to and receives from each rank in an exchange that puts `bytes` on
/// the wire; its own part is not on the wire. `back` is the way back to the tokens' ranks. Empty
/// where `tokens` says nothing.
struct Splits {
  std::vector<std::int64_t> sent, received;
};
Splits exchange_splits(const ExchangeTokens& tokens, int layer, int rank, std::int64_t bytes,
                       bool back);

}  // namespace db
