#pragma once

#include <cstdint>

namespace moe {

/// Where `index` goes in a permutation of [0, count) that `key` chooses: a function of these three
/// alone, without a table. A Feistel network of four rounds permutes the least even number of bits
/// that holds `count`. It is applied again until the result is below `count`, fewer than four times
/// in the mean. Throws std::invalid_argument for an index outside [0, count).
std::int64_t permuted(std::int64_t index, std::int64_t count, std::uint64_t key);

}  // namespace moe
