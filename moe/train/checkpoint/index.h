#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/safetensors.h"
#include "moe/train/outliers.h"

namespace moe {

/// What a checkpoint holds besides its tensors: the file `index.json` in its folder.
struct CheckpointIndex {
  int iteration = 0;   ///< the last iteration that it holds; draws and rates follow from its number
  Model model;         ///< with the number of capacity groups in force, where it has a capacity
  std::string layout;  ///< "dp=1,ep=2,esp=1,tp=1,pp=1"
  std::uint64_t corpus_fingerprint = 0;
  std::vector<SourceCursor> cursors;      ///< [source]; empty where samples are drawn at random
  Schedule schedule;                      ///< the one in force
  OutlierHistory outliers;                ///< of a model that passes over outliers
  std::map<std::string, FileSeal> files;  ///< by name of the file
  std::map<std::string, std::string> file_of;  ///< by name of the tensor
};

inline constexpr const char* kIndexFile = "index.json";

/// The text of the file, with its checksum.
std::string to_text(const CheckpointIndex& index);
/// Throws InputError with the file, for what is not such an index or was changed.
CheckpointIndex read_index(const std::filesystem::path& folder);

}  // namespace moe
