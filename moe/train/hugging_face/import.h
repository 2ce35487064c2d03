#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "moe/model/published/published_class.h"

namespace moe {

struct ImportOptions {
  std::filesystem::path from;           ///< a folder as transformers writes it
  Model base;                           ///< has what config.json does not say
  std::filesystem::path checkpoint;     ///< the folder of a training's checkpoints, which has none
  std::vector<std::string> settings{};  ///< above config.json: "moe.capacity_factor=1.25"
};

/// What was read.
struct ImportReport {
  Model model;
  const PublishedClass* of = nullptr;
  std::filesystem::path model_file;  ///< to train with
  std::int64_t parameters = 0;
  std::vector<std::string> remarks{};  ///< what of the folder or of `base` is left aside
};

/// Writes the checkpoint of iteration 0 of a training that begins with the parameters in `from`,
/// and its model file beside it. States of the optimizer are zeros. Throws InputError with file and
/// line, or file and tensor, for what has no counterpart, and std::runtime_error for what cannot be
/// written.
ImportReport import_parameters(const ImportOptions& options);

}  // namespace moe
