#include "moe/train/checkpoint/load.h"

#include <string>
#include <vector>

#include "moe/train/checkpoint/checkpoint_files.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/shared_states.h"

namespace moe {

void load_tensors(Runner& runner, const CheckpointIndex& index,
                  const std::filesystem::path& folder) {
  CheckpointFiles files(index, folder);
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
    const StoredTensor& stored = files.tensor(named, tensor.dtype);
    take_from_whole(program.parameters[named.parameter].shard, columns_of(program, named),
                    bytes_of(tensor.dtype), stored.bytes, block_bytes(program, named, bytes));
  }
  write_held();
}

}  // namespace moe
