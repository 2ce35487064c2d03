#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/train/checkpoint/folder_lock.h"
#include "moe/train/checkpoint/index.h"

/// The folder of a training's checkpoints: a folder for each, named by its iteration. One that is
/// not complete has another name, and is never read.
namespace moe {

/// DIR/iteration-00000400
std::filesystem::path checkpoint_folder(const std::filesystem::path& directory, int iteration);
/// DIR/iteration-00000400.partial, while it is written.
std::filesystem::path partial_folder(const std::filesystem::path& directory, int iteration);
/// "rank-00003.safetensors"
std::string shard_file(int rank);

/// The iterations whose checkpoints are complete, ascending.
std::vector<int> checkpoints_in(const std::filesystem::path& directory);

/// Makes the folder if there is none, keeps it for this process (folder_lock.h), and removes what
/// a training left that ended while it wrote. `last`: the last complete checkpoint that the caller
/// has seen there, 0 for none. Throws InputError where another training has the folder, and if it
/// has written a further checkpoint there since.
[[nodiscard]] std::unique_ptr<FolderLock> prepare_folder(
    const std::filesystem::path& directory, int last, double patience_s = FolderLock::kPatience_s);

/// DIR/import.partial, while a checkpoint is made of another library's (hugging_face/import.h). It
/// stays where that was ended, and `import` goes on in it.
std::filesystem::path import_folder(const std::filesystem::path& directory);
/// Throws InputError where there is such a folder: a training there would begin anew without what
/// was to be imported.
void expect_no_unfinished_import(const std::filesystem::path& directory);

/// Writes the index into `partial` and gives that folder the name of the checkpoint. Until then the
/// checkpoint does not exist; from then on it is complete, whatever happens. Throws
/// std::runtime_error.
void complete(const std::filesystem::path& directory, const CheckpointIndex& index,
              const std::filesystem::path& partial);

/// Removes all but the last `keep` checkpoints; 0 keeps all.
void remove_older(const std::filesystem::path& directory, int keep);

}  // namespace moe
