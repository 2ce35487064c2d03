#pragma once

#include <cstdint>
#include <limits>

/// Sizes that nobody can mean, and beyond which sums and products would not be what they say.
namespace moe {

/// Products of two stay far within int64.
inline constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
inline constexpr int kMostExperts = 1 << 20;
inline constexpr int kMostBlocks = 1000;
inline constexpr int kMostMicroBatches = 4096;
/// Blocks times micro-batches: each such pass is some 45 to 70 ops of a Program. At the most (128 blocks, 128
/// micro-batches: 724 thousand ops) a plan was made within 1.3 GiB and 1.4 s.
inline constexpr std::int64_t kMostPasses = 16384;
inline constexpr std::int64_t kMostTokens =
    std::numeric_limits<std::int32_t>::max();     ///< of a batch
inline constexpr double kMostParameters = 1e13;   ///< far within int64
inline constexpr double kMostActivations = 1e16;  ///< of a batch that thousands of ranks share

}  // namespace moe
