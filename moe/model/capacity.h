#pragma once

#include <cstdint>

namespace moe {

/// Token copies that an expert keeps of a capacity group:
///   C = ceil(k f T / E), at least 1, at most T
/// k = choices, f = factor, T = tokens of the group, E = experts. Exact: f is the shortest decimal
/// that reads back as `factor`, the one that somebody wrote, so that 2 * 1.1 * 420 / 7 is 132 and
/// not what rounding makes of it. T because an expert gets one copy of a token at most. Throws
/// std::invalid_argument unless k, T, E >= 1, k T <= 2^40 and 0 < f < infinity.
std::int64_t expert_capacity(int choices, double factor, std::int64_t group_tokens, int experts);

/// Most rows that a rank sends in one MoE layer: what its `groups` capacity groups keep, and never
/// more than its tokens have copies.
std::int64_t most_rows_sent(std::int64_t capacity, int groups, int experts, int choices,
                            std::int64_t tokens);
/// Most rows that a rank's experts, of `experts` spread over `expert_ranks` ranks, receive from
/// these ranks of `tokens` tokens each: a token sends them at most as many copies as they are.
std::int64_t most_rows_received(std::int64_t capacity, int groups, int experts, int choices,
                                std::int64_t tokens, int expert_ranks);

}  // namespace moe
