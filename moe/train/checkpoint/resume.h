#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/run/runner.h"
#include "moe/train/checkpoint/index.h"

namespace moe {

/// The checkpoint that a training goes on from.
struct ResumePoint {
  std::filesystem::path folder;
  CheckpointIndex index;
  std::string way_out;               ///< what to do where it cannot be read
  std::vector<std::string> remarks;  ///< what differs from the training that wrote it, in lines
};

/// The last complete checkpoint of the folder; none where there is none. Throws InputError where it
/// is damaged.
std::optional<ResumePoint> find_resume_point(const std::filesystem::path& directory);

/// Makes remarks on the keys of `model` that differ. Throws InputError where one of them is of kind
/// `tensors`, or of kind `function` and the model is not only evaluated.
void compare_models(ResumePoint& point, const Model& model, bool only_evaluates);

/// Whether a training that goes on beside this process may take checkpoints away that it reads.
enum class BesideTraining : std::uint8_t { no, maybe };

/// Reads this rank's tensors, and returns the checkpoint that they are of: `point`, or, beside
/// another training that has replaced it meanwhile, a later one. Collective; throws CheckpointError
/// on all ranks together.
ResumePoint resume(Runner& runner, ResumePoint point, const Model& model, Communicator& world,
                   double time_limit_s, BesideTraining beside);

}  // namespace moe
