#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/search/setup.h"
#include "tuner/search/setup_pieces.h"

namespace tuner {

struct CutSchedule {
  moe::Schedule schedule;
  std::vector<std::int64_t> excess;  ///< [stage]: its ExcessOf; empty where memory is not limited
};

/// The schedule, whose order fills and drains stages, with the cut into stages that is the fastest by
/// the pieces (fastest_cut), with what must be computed again to keep to `limit_bytes` of a rank, 0: to
/// any. Where that does not fit as it is, it is cut once more: then each stage leaves free what the
/// plan of the first cut needs beyond its pieces, and room for one restored block. With its own stages
/// where the fastest cut is none. None where no cut fits. Throws as `excess_of`. [ours]
std::optional<CutSchedule> with_fastest_stages(const SetupPieces& pieces, const moe::Model& model,
                                               const TrainingSetup& setup,
                                               const moe::Program& program,
                                               const moe::Schedule& schedule,
                                               std::int64_t limit_bytes, const ExcessOf& excess_of);

}  // namespace tuner
