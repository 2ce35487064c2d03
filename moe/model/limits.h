#pragma once

#include <cstdint>
#include <limits>

/// Limits beyond which a size must be a mistake, and beyond which sums and products could overflow.
namespace moe {

/// Products of two such numbers stay far within int64.
inline constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
inline constexpr int kMostExperts = 1 << 20;
inline constexpr int kMostBlocks = 1000;
inline constexpr int kMostMicroBatches = 4096;
/// The most blocks times micro-batches. Each such pass is some 45 to 70 ops of a Program. At the
/// limit (128 blocks and 128 micro-batches make 724 thousand ops) a plan took 1.3 GiB and 1.4 s.
inline constexpr std::int64_t kMostPasses = 16384;
inline constexpr std::int64_t kMostTokens =
    std::numeric_limits<std::int32_t>::max();  ///< tokens of a batch
/// With a gradient and two moments of optimizers, in bytes, they stay within int64.
inline constexpr double kMostParameters = 1e17;
/// Elements for a batch that thousands of ranks share.
inline constexpr double kMostActivations = 1e16;

}  // namespace moe
