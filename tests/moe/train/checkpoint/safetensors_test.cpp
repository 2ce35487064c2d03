#include "moe/train/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

#include "moe/errors.h"
#include "moe/input/read_file.h"

namespace moe::train_checkpoint_safetensors_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string path_of(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / (name + std::to_string(getpid()))).string();
}

/// Two tensors and an empty one, in a file.
struct Written {
  std::array<float, 6> floats{1, 2, 3, 4, 5, 6};
  std::array<double, 3> doubles{7, 8, 9};
  std::string file = path_of("safetensors_test");
  FileSeal seal;
  std::string text;

  Written() {
    seal = write_safetensors(file, {{"a", "F32", {2, 3}, std::as_bytes(std::span(floats))},
                                    {"b.c", "F64", {3}, std::as_bytes(std::span(doubles))},
                                    {"empty", "F32", {0, 4}, {}}});
    text = read_file(file);
  }
  ~Written() { std::filesystem::remove(file); }

  void overwrite(const std::string& with) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << with;
  }
  /// Why the file cannot be read; empty where it can.
  std::string refusal() const {
    try {
      const SafetensorsFile read(file, seal);
      for (const std::string& name : read.names()) read.tensor(name);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
};

TEST(Safetensors, WhoseTensorsAreMadeOneByOneAreTheSameFile) {
  const Written written;
  const std::string file = path_of("safetensors_made");
  const auto bytes_of = [](const auto& values) {
    return [&values](const BytesTaker& take) {  // in pieces that are no whole elements
      const auto bytes = std::as_bytes(std::span(values));
      for (std::size_t i = 0; i < bytes.size(); i += 3) {
        take(bytes.subspan(i, std::min<std::size_t>(3, bytes.size() - i)));
      }
    };
  };
  const std::array<float, 0> none{};
  const std::vector<MadeTensor> tensors{{"a", "F32", {2, 3}, bytes_of(written.floats)},
                                        {"b.c", "F64", {3}, bytes_of(written.doubles)},
                                        {"empty", "F32", {0, 4}, bytes_of(none)}};
  EXPECT_EQ(write_safetensors(file, tensors), written.seal);
  EXPECT_EQ(read_file(file), written.text);
  std::filesystem::remove(file);
}

TEST(Safetensors, OfATensorWithAnotherNumberOfBytesAreNotWritten) {
  const std::string file = path_of("safetensors_other");
  const std::array<float, 2> two{1, 2};
  const std::vector<MadeTensor> tensors{
      {"a", "F32", {3}, [&](const BytesTaker& take) { take(std::as_bytes(std::span(two))); }}};
  EXPECT_THROW(write_safetensors(file, tensors), std::logic_error);
  std::filesystem::remove(file);
}

TEST(Safetensors, WhoseBytesWereForgottenAreReadAgain) {
  const Written written;
  const SafetensorsFile read(written.file, written.seal);
  const StoredTensor& a = read.tensor("a");
  read.forget(a.bytes);
  read.forget({});
  EXPECT_EQ(std::memcmp(a.bytes.data(), written.floats.data(), a.bytes.size()), 0);
  EXPECT_EQ(read.seal(), written.seal);
}

TEST(Safetensors, AreReadAsTheyWereWritten) {
  const Written written;
  const SafetensorsFile read(written.file, written.seal);
  EXPECT_THAT(read.names(), ::testing::ElementsAre("a", "b.c", "empty"));
  const StoredTensor& a = read.tensor("a");
  EXPECT_EQ(a.dtype, "F32");
  EXPECT_THAT(a.shape, ::testing::ElementsAre(2, 3));
  ASSERT_EQ(a.bytes.size(), sizeof written.floats);
  EXPECT_EQ(std::memcmp(a.bytes.data(), written.floats.data(), a.bytes.size()), 0);
  EXPECT_EQ(read.tensor("empty").bytes.size(), 0u);
  EXPECT_THROW(read.tensor("b"), InputError);
}

TEST(Safetensors, HaveTheLayoutOfTheLibrary) {
  const Written written;
  std::uint64_t length = 0;
  std::memcpy(&length, written.text.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u) << "tensors begin at a multiple of 8";
  const std::string header = written.text.substr(sizeof length, length);
  EXPECT_THAT(header, HasSubstr(R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})"));
  EXPECT_EQ(written.text.size(), sizeof length + length + 24 + 24);
  float first = 0;
  std::memcpy(&first, written.text.data() + sizeof length + length, sizeof first);
  EXPECT_EQ(first, 1);
}

TEST(Safetensors, CutAtAnyByteAreRefusedWithTheFile) {
  const Written written;
  for (std::size_t bytes = 0; bytes < written.text.size(); ++bytes) {
    written.overwrite(written.text.substr(0, bytes));
    ASSERT_THAT(written.refusal(), HasSubstr(written.file)) << bytes << " bytes";
    EXPECT_THROW(SafetensorsFile(written.file), InputError) << "without a seal, " << bytes;
  }
}

TEST(Safetensors, WithAnyBitFlippedAreRefused) {
  const Written written;
  for (std::size_t byte = 0; byte < written.text.size(); ++byte) {
    for (const int bit : {0, 3, 7}) {
      std::string flipped = written.text;
      flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << bit));
      written.overwrite(flipped);
      ASSERT_NE(written.refusal(), "") << "byte " << byte << ", bit " << bit;
    }
  }
  std::string last = written.text;
  last.back() = static_cast<char>(last.back() ^ 1);
  written.overwrite(last);
  EXPECT_THAT(written.refusal(),
              AllOf(HasSubstr(written.file), HasSubstr("tensor b.c: its bytes are not those")));
}

TEST(Safetensors, WhoseTensorsShareBytesAreRefused) {
  const Written written;
  std::string shared = written.text;
  const std::string place = R"("data_offsets":[24,48]})", other = R"("data_offsets":[0,24]} )";
  ASSERT_NE(shared.find(place), std::string::npos);
  shared.replace(shared.find(place), place.size(), other);
  written.overwrite(shared);
  std::string why;
  try {
    const SafetensorsFile read(written.file);
  } catch (const InputError& error) {
    why = error.what();
  }
  EXPECT_THAT(why, AllOf(HasSubstr(written.file + ": tensor "),
                         HasSubstr("begins at byte 0: expected byte 24, at which the one")));
}

TEST(Safetensors, LongerThanTheyWereWrittenAreRefused) {
  const Written written;
  written.overwrite(written.text + "x");
  EXPECT_THAT(written.refusal(), HasSubstr("expected the"));
  EXPECT_THROW(SafetensorsFile(written.file), InputError);
}

TEST(Safetensors, OfADiskThatIsFullNameTheFileAndTheTensor) {
  const std::string file = path_of("safetensors_full");
  const std::vector<std::byte> bytes(1 << 16);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 4096, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string why;
  try {
    write_safetensors(file, {{"big", "F32", {1 << 14}, bytes}});
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::filesystem::remove(file);
  EXPECT_THAT(why, AllOf(HasSubstr(file), HasSubstr("tensor big: File too large")));
}

}  // namespace
}  // namespace moe::train_checkpoint_safetensors_test
