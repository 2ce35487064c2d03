#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/model/model.h"
#include "moe/rows/groups.h"
#include "moe/run/runner.h"

namespace moe {

struct SampleOptions {
  std::vector<std::int32_t> prompt;  ///< at least one token of the vocabulary
  int tokens = 0;                    ///< how many to add to it
  double temperature = 1;            ///< of the softmax; 0 = always the most probable token
};

/// The token that follows logits[V]. `uniform`, in (0, 1], decides where the temperature is above
/// 0; at 0 the first of the largest logits is taken.
std::int32_t next_token(const std::vector<double>& logits, double temperature, double uniform);

/// The tokens that the model adds to the prompt, one after the other, each drawn from (seed, its
/// number). It sees the last tokens of what there is, as many as a sequence has. Every sequence of
/// the batch holds the same text, and the model drops copies as in training. Ends early where
/// `is_asked_to_end` says so, on all ranks alike. The runner's Program must be a forward phase.
/// Collective; every rank returns the same.
std::vector<std::int32_t> sample_tokens(Runner& runner, const Model& model, const Groups& groups,
                                        Backend& backend, Communicator& world,
                                        const SampleOptions& options, double time_limit_s,
                                        const std::function<bool()>& is_asked_to_end);

}  // namespace moe
