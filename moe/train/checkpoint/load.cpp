#include "moe/train/checkpoint/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/shared_states.h"

namespace moe {
namespace {

/// The files of a checkpoint, opened when they are asked for.
class OpenFiles {
 public:
  OpenFiles(const CheckpointIndex& index, std::filesystem::path folder)
      : index_(index), folder_(std::move(folder)) {}

  const StoredTensor& tensor(const std::string& name) {
    const auto in = index_.file_of.find(name);
    if (in == index_.file_of.end()) {
      throw InputError(
          fmt::format("{}: tensor {}: is not there: expected a checkpoint of a model with it",
                      (folder_ / kIndexFile).string(), name));
    }
    auto open = files_.find(in->second);
    if (open == files_.end()) {
      open =
          files_.try_emplace(in->second, folder_ / in->second, index_.files.at(in->second)).first;
    }
    return open->second.tensor(name);
  }
  std::filesystem::path path_of(const std::string& name) const {
    return folder_ / index_.file_of.at(name);
  }

 private:
  const CheckpointIndex& index_;
  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
};

}  // namespace

void load_tensors(Runner& runner, const CheckpointIndex& index,
                  const std::filesystem::path& folder) {
  OpenFiles files(index, folder);
  const Program& program = runner.program();
  std::vector<std::byte> bytes;
  TensorId held = -1;
  const Parameter* of = nullptr;
  const auto write_held = [&] {
    if (held >= 0) SharedStates::write(runner, *of, held, bytes);
  };
  for (const NamedTensor& named : named_tensors(program)) {
    const Tensor& tensor = program.tensors[named.tensor];
    if (held != named.tensor) {
      write_held();
      held = named.tensor;
      of = &program.parameters[named.parameter];
      const Tensor& value = program.tensors[of->value];
      bytes.resize(static_cast<std::size_t>(value.rows * value.columns * bytes_of(tensor.dtype)));
    }
    const StoredTensor& stored = files.tensor(named.name);
    const std::vector<std::int64_t> shape{named.rows, named.columns};
    if (stored.shape != shape || stored.dtype != stored_type(tensor.dtype)) {
      throw InputError(fmt::format("{}: tensor {}: is {} [{}]: expected {} [{}]",
                                   files.path_of(named.name).string(), named.name, stored.dtype,
                                   fmt::join(stored.shape, ", "), stored_type(tensor.dtype),
                                   fmt::join(shape, ", ")));
    }
    take_from_whole(program.parameters[named.parameter].shard, columns_of(program, named),
                    bytes_of(tensor.dtype), stored.bytes, block_bytes(program, named, bytes));
  }
  write_held();
}

}  // namespace moe
