#include "moe/train/checkpoint/checkpoint_files.h"

#include <fmt/format.h>

#include <utility>

#include "moe/errors.h"

namespace moe {

CheckpointFiles::CheckpointFiles(const CheckpointIndex& index, std::filesystem::path folder)
    : index_(index), folder_(std::move(folder)) {}

const StoredTensor& CheckpointFiles::tensor(const std::string& name) {
  const auto in = index_.file_of.find(name);
  if (in == index_.file_of.end()) {
    throw InputError(
        fmt::format("{}: tensor {}: is missing: expected a checkpoint of a model that has it",
                    (folder_ / kIndexFile).string(), name));
  }
  auto open = files_.find(in->second);
  if (open == files_.end()) {
    open = files_.try_emplace(in->second, folder_ / in->second, index_.files.at(in->second)).first;
  }
  return open->second.tensor(name);
}

std::filesystem::path CheckpointFiles::path_of(const std::string& name) const {
  return folder_ / index_.file_of.at(name);
}

}  // namespace moe
