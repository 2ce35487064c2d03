#pragma once

#include <cstdint>

#include "moe/rows/op_facts.h"

/// Ops of gates that draw random numbers. T tokens of this rank, E experts. A number is a function
/// of the seed, the layer, the iteration, the token's place in the global batch and the expert, so
/// that neither ranks nor chunks nor the order of ops change it.
namespace moe {

struct Draw {
  std::int64_t seed = 0;
  int layer = 0;
  /// The place of the first token of this rank and micro-batch in the global batch.
  std::int64_t first_token = 0;
  std::int64_t micro_batch_tokens =
      0;  ///< tokens of all ranks in a micro-batch: the next one begins so many further
};

/// logits[T,E], deviations[T,E], step i32[1,1] -> noisy[T,E] = logits + n softplus(deviations), n
/// standard normal; without n where `quiet`
struct AddNoise {
  static constexpr OpFacts facts =
      kernel_op("add_noise", CostUnit::bytes,
                {wide(Cut::rows), wide(Cut::rows), integers(Cut::whole)}, {wide(Cut::rows)});
  Draw draw{};
  bool quiet = false;
  Work work(const OpSizes& sizes) const;
};
/// d_noisy[T,E], deviations[T,E], step i32[1,1] -> d_deviations[T,E]; n is drawn again
struct AddNoiseGradient {
  static constexpr OpFacts facts =
      kernel_op("add_noise_gradient", CostUnit::bytes,
                {wide(Cut::rows), wide(Cut::rows), integers(Cut::whole)}, {wide(Cut::rows)});
  Draw draw{};
  Work work(const OpSizes& sizes) const;
};

/// step i32[1,1] -> ranking[T,E], uniform in [0, 1)
struct DrawRanking {
  static constexpr OpFacts facts =
      kernel_op("draw_ranking", CostUnit::bytes, {integers(Cut::whole)}, {wide(Cut::rows)});
  Draw draw{};
  Work work(const OpSizes& sizes) const;
};
/// tokens i32[T] -> ranking[T,E], uniform in [0, 1): a function of seed, layer, token id and expert
struct HashTokens {
  static constexpr OpFacts facts =
      kernel_op("hash_tokens", CostUnit::bytes, {integers(Cut::rows)}, {wide(Cut::rows)});
  std::int64_t seed = 0;
  int layer = 0;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
