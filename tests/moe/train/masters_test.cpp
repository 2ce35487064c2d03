// A checkpoint has whole masters, of which memory has the parameter and the rest.
#include "moe/train/masters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "moe/errors.h"
#include "moe/kernels/bf16.h"
#include "moe/model/iteration.h"
#include "moe/train/checkpoint/collect.h"
#include "moe/train/checkpoint/load.h"
#include "moe/train/initialize.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::masters_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::string_view kSuffix = ".master";

using Bytes = std::map<std::string, std::vector<std::byte>>;

/// A rank alone that trains in bf16, and the file of a checkpoint.
struct Alone {
  Model model = small_model(DType::bf16);
  Groups groups = make_groups(1, 1);
  std::unique_ptr<Communicator> world = make_solo_communicator();
  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Runner runner{
      build_iteration(model, groups, 0), groups, *backend, *world, {.memory_limit_bytes = 1 << 28}};
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("masters" + std::to_string(getpid()));

  Alone() { std::filesystem::create_directories(folder); }
  ~Alone() { std::filesystem::remove_all(folder); }

  Collected collect() const { return Collector(groups, *world, 60).collect(runner); }
  void load(const std::vector<StoredTensor>& tensors, const std::string& file) {
    CheckpointIndex index;
    index.files[file] = write_safetensors(folder / file, tensors);
    for (const StoredTensor& tensor : tensors) index.file_of[tensor.name] = file;
    load_tensors(runner, index, folder);
  }
};

Bytes bytes_of(const Collected& collected) {
  Bytes all;
  for (std::size_t i = 0; i < collected.tensors.size(); ++i) {
    all[collected.tensors[i].name] = collected.storage[i];
  }
  return all;
}

TEST(Masters, AreWholeInACheckpointAndMadeAgainFromIt) {
  Alone one;
  initialize_parameters(one.runner, 3);
  const Collected written = one.collect();
  const Bytes before = bytes_of(written);
  int masters = 0, with_more = 0;
  for (const StoredTensor& tensor : written.tensors) {
    if (!tensor.name.ends_with(kSuffix)) continue;
    ++masters;
    EXPECT_EQ(tensor.dtype, "F32") << tensor.name;
    const std::string of = tensor.name.substr(0, tensor.name.size() - kSuffix.size());
    const std::vector<std::byte>& values = before.at(of);
    EXPECT_EQ(tensor.bytes.size(), 2 * values.size()) << tensor.name;
    EXPECT_EQ(first_not_rounded(values, tensor.bytes), std::nullopt) << tensor.name;
    const auto rest = remainders_of(tensor.bytes);
    with_more += std::ranges::any_of(rest, [](std::byte byte) { return byte != std::byte{}; });
  }
  EXPECT_GT(masters, 10);
  EXPECT_GT(with_more, 5) << "normal numbers are not all of bf16";

  initialize_parameters(one.runner, 4);
  EXPECT_NE(bytes_of(one.collect()), before);
  one.load(written.tensors, "written.safetensors");
  EXPECT_EQ(bytes_of(one.collect()), before);
}

TEST(Masters, ThatDoNotRoundToTheirParameterAreRefused) {
  Alone one;
  initialize_parameters(one.runner, 3);
  Collected written = one.collect();
  for (std::size_t i = 0; i < written.tensors.size(); ++i) {
    if (written.tensors[i].name != "head.weight.master") continue;
    written.storage[i][7] ^= std::byte{0x80};  // the sign of the second
  }
  EXPECT_THAT([&] { one.load(written.tensors, "changed.safetensors"); },
              ThrowsMessage<InputError>(AllOf(
                  HasSubstr(one.folder.string() + ": tensor head.weight: value 1 of this rank's"),
                  HasSubstr("expected what head.weight.master has there, rounded"))));
}

}  // namespace
}  // namespace moe::test::masters_test
