#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "moe/model/published/published_class.h"

namespace moe {

/// How far an import is. Bytes are those of this process.
struct ImportProgress {
  int files = 0, of_files = 0;      ///< of the checkpoint, that are complete
  std::int64_t bytes_read = 0;      ///< of tensors
  std::int64_t bytes_written = 0;   ///< of files of tensors
  std::int64_t bytes_complete = 0;  ///< of those files, also what an earlier import wrote
  double duration_s = 0;
};

struct ImportOptions {
  std::filesystem::path from;           ///< a folder as transformers writes it
  Model base;                           ///< has what config.json does not say
  std::filesystem::path checkpoint;     ///< the folder of a training's checkpoints, which has none
  std::vector<std::string> settings{};  ///< above config.json: "moe.capacity_factor=1.25"
  /// A file of the checkpoint has one tensor at least and no more than this. What an import that is
  /// ended loses is one file.
  std::int64_t file_bytes = std::int64_t{1} << 30;
  std::function<void(const ImportProgress&)> progress = [](const ImportProgress&) {};  ///< by file
};

/// What was read.
struct ImportReport {
  Model model;
  const PublishedClass* of = nullptr;
  std::filesystem::path model_file;  ///< to train with
  std::int64_t parameters = 0;
  std::vector<std::string> remarks{};  ///< what of the folder or of `base` is left aside
  ImportProgress done{};
};

/// Writes the checkpoint of iteration 0 of a training that begins with the parameters in `from`,
/// and its model file beside it. States of the optimizer are not written: the index says that they
/// are as before the first step. Masters are, where a parameter is rounded. Needs the memory of a
/// few pieces of a matrix (matrix_pieces.h), however large the model is.
/// Goes on where an import of the same was ended (unfinished_import.h).
/// Throws InputError with file and line, or file and tensor, for what has no counterpart,
/// db::OutputError where the disk has too little room, and std::runtime_error for what cannot be
/// written.
ImportReport import_parameters(const ImportOptions& options);

}  // namespace moe
