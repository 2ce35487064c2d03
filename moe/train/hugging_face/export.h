#pragma once

#include <cstdint>
#include <filesystem>

#include "moe/model/published/published_class.h"

namespace moe {

struct ExportOptions {
  std::filesystem::path checkpoint;    ///< the folder of one, or of a training's, of which the last
  std::filesystem::path to;            ///< a folder that is not there, or is empty
  const PublishedClass* as = nullptr;  ///< none: the first that fits
  bool drop_nothing = false;           ///< leave out the capacity of experts, which no class has
};

/// What was written.
struct ExportReport {
  const PublishedClass* of = nullptr;
  int iteration = 0;
  std::size_t tensors = 0;
  std::int64_t bytes = 0;
};

/// Writes the parameters of a checkpoint as transformers loads them: config.json and
/// model.safetensors, in the precision of the model. Throws InputError for a checkpoint that cannot
/// be read and for a tensor that has no counterpart, Refusal for a model that has none.
ExportReport export_checkpoint(const ExportOptions& options);

}  // namespace moe
