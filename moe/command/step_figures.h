#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "moe/model/model.h"
#include "moe/train/trainer.h"

namespace moe {

/// What figures of a step are worked out with.
struct StepScale {
  std::int64_t tokens = 0;                 ///< of the global batch
  std::optional<double> peak_flops_per_s;  ///< of all ranks; none where it was not measured
};

double tokens_per_s(const StepScale& scale, const StepReport& step);
double flops_per_s(const StepReport& step);
/// FLOP/s over the peak; none where that is not known.
std::optional<double> peak_share(const StepScale& scale, const StepReport& step);
/// The most bytes that the tensors of a rank take, of all ranks.
std::int64_t peak_bytes(const StepReport& step);

/// The rate of the fastest matrix product of the model's dtype that `moe-bench gemm` has stored in
/// `database` for a rank of this machine with this number of computing threads (none on a GPU),
/// times the ranks. None without such rows, and without a database.
std::optional<double> measured_peak(const std::string& database, const Model& model,
                                    const std::string& device, std::optional<int> threads,
                                    int ranks);

}  // namespace moe
