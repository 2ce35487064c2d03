#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/run_chain.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/train/batches.h"
#include "moe/train/checkpoint/safetensors.h"
#include "moe/train/outliers.h"

namespace moe {

/// Where a log ends that has a line for every iteration of a checkpoint.
struct LogPlace {
  std::int64_t bytes = 0;
  std::uint64_t line = 0;  ///< the checksum of its last line

  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

/// What a checkpoint holds besides its tensors: the file `index.json` in its folder.
struct CheckpointIndex {
  int iteration = 0;   ///< the last iteration that it holds; draws and rates follow from its number
  Model model;         ///< with the number of capacity groups in force, where it has a capacity
  std::string layout;  ///< "dp=1,ep=2,esp=1,tp=1,pp=1"
  std::uint64_t corpus_fingerprint = 0;
  std::vector<SourceCursor> cursors;   ///< [source]; empty where samples are drawn at random
  Schedule schedule;                   ///< the one in force
  OutlierHistory outliers;             ///< of a model that passes over outliers
  std::optional<db::RunIdentity> run;  ///< the run that wrote it; none where none is stored
  std::optional<LogPlace> log;         ///< none without a log, and where it is no plain file
  /// States that no file has are as before the first step: a master has the value of its
  /// parameter, all others are zero.
  bool has_initial_states = false;
  std::map<std::string, FileSeal> files;       ///< by name of the file
  std::map<std::string, std::string> file_of;  ///< by name of the tensor
};

inline constexpr const char* kIndexFile = "index.json";

/// The text of the file, with its checksum.
std::string to_text(const CheckpointIndex& index);
/// Throws InputError with the file, for what is not such an index or was changed.
CheckpointIndex read_index(const std::filesystem::path& folder);

}  // namespace moe
