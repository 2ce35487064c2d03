#include "moe/train/checkpoint/checkpoint_files.h"

#include <fmt/format.h>

#include <utility>

#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/train/masters.h"

namespace moe {

CheckpointFiles::CheckpointFiles(const CheckpointIndex& index, std::filesystem::path folder)
    : index_(index), folder_(std::move(folder)) {}

const StoredTensor& CheckpointFiles::tensor(const std::string& name) {
  const auto in = index_.file_of.find(name);
  if (in == index_.file_of.end()) {
    throw InputError(
        fmt::format("{}: tensor {}: is missing: expected a checkpoint of a model that has it",
                    (folder_ / kIndexFile).string(), db::shortened(name, 200)));
  }
  auto open = files_.find(in->second);
  if (open == files_.end()) {
    open = files_.try_emplace(in->second, folder_ / in->second, index_.files.at(in->second)).first;
  }
  return open->second.tensor(name);
}

/// A master as its parameter, and zeros for any other state.
const StoredTensor& CheckpointFiles::initial_state(const NamedTensor& named) {
  const std::int64_t elements = named.rows * named.columns;
  if (named.name == named.state_of + std::string(kMaster)) {
    NamedTensor parameter = named;
    parameter.name = std::exchange(parameter.state_of, "");
    parameter.dtype = DType::bf16;
    made_bytes_ = masters_of(tensor(parameter).bytes);
  } else {
    made_bytes_.assign(static_cast<std::size_t>(elements * bytes_of(named.dtype)), std::byte{});
  }
  made_ = {
      named.name, std::string(stored_type(named.dtype)), {named.rows, named.columns}, made_bytes_};
  return made_;
}

const StoredTensor& CheckpointFiles::tensor(const NamedTensor& named) {
  if (index_.has_initial_states && !named.state_of.empty() &&
      !index_.file_of.contains(named.name)) {
    return initial_state(named);
  }
  const StoredTensor& stored = tensor(named.name);
  const std::filesystem::path file = path_of(named.name);
  expect_shape(file, named.name, stored.shape, {named.rows, named.columns});
  if (stored.dtype != stored_type(named.dtype)) {
    throw InputError(fmt::format("{}: tensor {}: is {}: expected {}", file.string(), named.name,
                                 stored.dtype, stored_type(named.dtype)));
  }
  return stored;
}

std::filesystem::path CheckpointFiles::path_of(const std::string& name) const {
  return folder_ / index_.file_of.at(name);
}

}  // namespace moe
