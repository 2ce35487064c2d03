#pragma once

#include "moe/program/op.h"

namespace moe {

/// True for the op that adds up the shares which a ScatterRows has brought. It is the end of that
/// exchange: it runs on the stream of the ScatterRows, before the rows travel on.
inline bool ends_exchange(const Op& op) { return std::holds_alternative<SumShares>(op.kind); }

}  // namespace moe
