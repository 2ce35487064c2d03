#include "moe/train/hugging_face/matrix_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "moe/errors.h"
#include "moe/model/published/read_config.h"
#include "moe/train/hugging_face/elements.h"
#include "tests/moe/train/hugging_face/golden_folders.h"

namespace moe::matrix_pieces_test {
namespace {

using namespace golden_folders;
using ::testing::HasSubstr;

/// A matrix of two tensors that are turned over, beside one that is not.
struct Case {
  static constexpr std::int64_t kRows = 201, kFirst = 130, kSecond = 7, kThird = 67;
  Scratch scratch;
  std::vector<Counterpart> parts{
      {"a", {kFirst, kRows}, "ours", true, 0},
      {"b", {kSecond, kRows}, "ours", true, kFirst, 2},
      {"c", {kRows, kThird}, "ours", false, kFirst + kSecond},
  };
  MadeMatrix matrix{kRows, kFirst + kSecond + kThird, DType::f32, {}};

  Case() {
    for (const Counterpart& one : parts) matrix.parts.push_back(&one);
    write("F32", 0);
  }
  /// `last`: the last element of c.
  void write(const std::string& dtype, double last) const {
    std::vector<std::vector<std::byte>> storage;
    std::vector<StoredTensor> tensors;
    for (const Counterpart& one : parts) {
      std::vector<double> values(static_cast<std::size_t>(one.shape[0] * one.shape[1]));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>((17 * i + one.theirs[0]) % 251) / 8;
      }
      values.back() = last;
      storage.push_back(stored_as(dtype, values));
      tensors.push_back({one.theirs, dtype, one.shape, storage.back()});
    }
    std::filesystem::remove(scratch.root / kTensorsFile);
    write_safetensors(scratch.root / kTensorsFile, tensors);
  }
  std::vector<double> made(std::int64_t piece_bytes) const {
    const Pretrained from(scratch.root);
    std::vector<std::byte> bytes;
    make_in_pieces(
        matrix, from,
        [&](std::span<const std::byte> piece) {
          EXPECT_LE(std::ssize(piece), std::max(piece_bytes, matrix.columns * 4));
          bytes.insert(bytes.end(), piece.begin(), piece.end());
        },
        piece_bytes);
    return elements_of({"", "F32", {}, bytes}, "");
  }
};

TEST(MatrixPieces, AreTheWholeMatrixWhateverTheirSize) {
  const Case one;
  std::vector<double> expected(static_cast<std::size_t>(one.matrix.rows * one.matrix.columns));
  const Pretrained from(one.scratch.root);
  for (const Counterpart& part : one.parts) {
    const std::vector<double> values = elements_of(from.tensor(part.theirs), "");
    for (std::int64_t r = 0; r < part.shape[0]; ++r) {
      for (std::int64_t c = 0; c < part.shape[1]; ++c) {
        const std::int64_t row = part.transposed ? c : r, column = part.transposed ? r : c;
        expected[static_cast<std::size_t>(row * one.matrix.columns + part.first_column + column)] =
            values[static_cast<std::size_t>(r * part.shape[1] + c)] / part.factor;
      }
    }
  }
  const std::int64_t row = one.matrix.columns * 4;
  for (const std::int64_t bytes : {std::int64_t{1}, 63 * row, 64 * row, 65 * row, 10000 * row}) {
    EXPECT_EQ(one.made(bytes), expected) << bytes;
  }
}

TEST(MatrixPieces, OfNoTensorAreZeros) {
  Case one;
  one.matrix.parts.clear();
  EXPECT_THAT(one.made(1000), ::testing::Each(0));
}

TEST(MatrixPieces, NameTheNumberThatAMatrixDoesNotHold) {
  const Case one;
  one.write("F64", 1e39);
  EXPECT_THAT(refusal([&] { one.made(1000); }),
              HasSubstr("tensor a: value 26129 is 1e+39: expected numbers up to 3.403e+38"));
  one.write("F64", NAN);
  EXPECT_THAT(refusal([&] { one.made(1 << 20); }), HasSubstr("is nan"));
}

TEST(MatrixPieces, AreTheirMastersWhereTheyAreInBf16AsTheyCome) {
  const Case one;
  const std::vector<const Counterpart*> as_it_comes{&one.parts[0]}, halved{&one.parts[1]};
  one.write("BF16", 0);
  EXPECT_TRUE(is_not_rounded(as_it_comes, Pretrained(one.scratch.root)));
  EXPECT_FALSE(is_not_rounded(halved, Pretrained(one.scratch.root)));
  one.write("F32", 0);
  EXPECT_FALSE(is_not_rounded(as_it_comes, Pretrained(one.scratch.root)));
}

}  // namespace
}  // namespace moe::matrix_pieces_test
