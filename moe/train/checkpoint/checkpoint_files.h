#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

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
  /// than the model's. A state that no file has is made where the index says so: the bytes are then
  /// valid until the next call.
  const StoredTensor& tensor(const NamedTensor& named);
  /// The file of a tensor that was found.
  std::filesystem::path path_of(const std::string& name) const;

 private:
  const StoredTensor& initial_state(const NamedTensor& named);

  const CheckpointIndex& index_;
  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
  StoredTensor made_;
  std::vector<std::byte> made_bytes_;
};

}  // namespace moe
