#pragma once

#include <filesystem>

#include "moe/run/runner.h"
#include "moe/train/checkpoint/index.h"

namespace moe {

/// Writes the parameters and optimizer states of a checkpoint into the tensors that this rank
/// holds, whatever layout wrote them. Throws InputError with file and tensor for what is missing,
/// of another shape or type, or changed.
void load_tensors(Runner& runner, const CheckpointIndex& index,
                  const std::filesystem::path& folder);

}  // namespace moe
