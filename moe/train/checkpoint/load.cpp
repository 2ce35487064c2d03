#include "moe/train/checkpoint/load.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/kernels/bf16.h"
#include "moe/train/checkpoint/checkpoint_files.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/masters.h"
#include "moe/train/shared_states.h"

namespace moe {
namespace {

/// Throws where the parameter, which has been written, is not its masters rounded.
void expect_rounded(const Runner& runner, const Parameter& parameter,
                    std::span<const std::byte> masters, const std::filesystem::path& folder) {
  const Tensor& value = runner.program().tensors[parameter.value];
  std::vector<Bf16> values(static_cast<std::size_t>(value.rows * value.columns));
  runner.read(parameter.value, std::as_writable_bytes(std::span(values)));
  const auto found = first_not_rounded(std::as_bytes(std::span(values)), masters);
  if (!found) return;
  throw InputError(fmt::format(
      "{}: tensor {}: value {} of this rank's is {}: expected what {}.master has there, rounded",
      folder.string(), value.name, *found, static_cast<float>(values[*found]), value.name));
}

}  // namespace

void load_tensors(Runner& runner, const CheckpointIndex& index,
                  const std::filesystem::path& folder) {
  CheckpointFiles files(index, folder);
  const Program& program = runner.program();
  std::vector<std::byte> bytes;
  TensorId held = -1;
  const Parameter* of = nullptr;
  const auto write_held = [&] {
    if (held < 0) return;
    if (held == of->remainder) {
      expect_rounded(runner, *of, bytes, folder);
      bytes = remainders_of(bytes);
    }
    SharedStates::write(runner, *of, held, bytes);
  };
  for (const NamedTensor& named : named_tensors(program)) {
    if (held != named.tensor) {
      write_held();
      held = named.tensor;
      of = &program.parameters[named.parameter];
      const Tensor& value = program.tensors[of->value];
      // Zeros, for empty blocks.
      bytes.assign(static_cast<std::size_t>(value.rows * value.columns * bytes_of(named.dtype)),
                   std::byte{0});
    }
    const StoredTensor& stored = files.tensor(named);
    take_from_whole(program.parameters[named.parameter].shard, columns_of(program, named),
                    bytes_of(named.dtype), stored.bytes, block_bytes(program, named, bytes));
  }
  write_held();
}

}  // namespace moe
