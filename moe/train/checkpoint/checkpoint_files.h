#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "moe/train/checkpoint/index.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/checkpoint/safetensors.h"

namespace moe {

/// The files of a checkpoint, opened when one of their tensors is asked for. `index` must outlive
/// it.
class CheckpointFiles {
 public:
  CheckpointFiles(const CheckpointIndex& index, std::filesystem::path folder);

  /// Throws InputError with file and tensor for one that is not there or was changed. The bytes are
  /// valid as long as this object.
  const StoredTensor& tensor(const std::string& name);
  /// The same of a matrix of a model. Throws InputError also where it is of another shape or type
  /// than the model's.
  const StoredTensor& tensor(const NamedTensor& named);
  /// The file of a tensor that was found.
  std::filesystem::path path_of(const std::string& name) const;

 private:
  const CheckpointIndex& index_;
  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
};

}  // namespace moe
