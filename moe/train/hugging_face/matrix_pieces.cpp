#include "moe/train/hugging_face/matrix_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "moe/train/checkpoint/names.h"
#include "moe/train/hugging_face/elements.h"

namespace moe {
namespace {

/// A square is turned over in the fastest memory.
constexpr std::int64_t kTile = 64;
/// What is kept of a file that is read, until it is forgotten.
constexpr std::int64_t kRead = std::int64_t{16} << 20;

/// The largest number of a type.
double largest_of(DType dtype) {
  constexpr double kLargestBf16 = 0x1.FEp127;
  if (dtype == DType::f64) return std::numeric_limits<double>::max();
  return dtype == DType::bf16 ? kLargestBf16
                              : static_cast<double>(std::numeric_limits<float>::max());
}

/// Puts one tensor of theirs into rows [first, end) of ours.
class PartOfPiece {
 public:
  PartOfPiece(const Counterpart& one, const Pretrained& from, const MadeMatrix& matrix)
      : one_(one),
        from_(from),
        path_(from.path_of(one.theirs)),
        theirs_(from.tensor(one.theirs)),
        largest_(largest_of(matrix.dtype)),
        dtype_(stored_type(matrix.dtype)),
        stride_(matrix.columns),
        width_(bytes_of(matrix.dtype)) {}

  void put(std::int64_t first, std::int64_t end, std::span<std::byte> piece) {
    end = std::min(end, one_.transposed ? columns_ : rows_);
    read_from_ = read_to_ = (part_.first_row + (one_.transposed ? 0 : first)) * of_row_;
    one_.transposed ? put_transposed(first, end, piece) : put_rows(first, end, piece);
    forget_read();
  }

 private:
  void put_rows(std::int64_t first, std::int64_t end, std::span<std::byte> piece) {
    for (std::int64_t r = first; r < end; ++r) {
      for (std::int64_t c = 0; c < columns_; c += std::ssize(tile_)) {
        const auto run = read(r, c, std::min(std::ssize(tile_), columns_ - c), tile_);
        store(run, r - first, one_.first_column + c, piece);
      }
    }
  }
  void put_transposed(std::int64_t first, std::int64_t end, std::span<std::byte> piece) {
    for (std::int64_t r = 0; r < rows_; r += kTile) {
      const std::int64_t rows = std::min(kTile, rows_ - r);
      for (std::int64_t c = first; c < end; c += kTile) {
        const std::int64_t columns = std::min(kTile, end - c);
        for (std::int64_t i = 0; i < rows; ++i) {
          read(r + i, c, columns, std::span(tile_).subspan(static_cast<std::size_t>(i * kTile)));
        }
        for (std::int64_t j = 0; j < columns; ++j) {
          std::array<double, kTile> turned;
          for (std::int64_t i = 0; i < rows; ++i) {
            turned[static_cast<std::size_t>(i)] = tile_[static_cast<std::size_t>(i * kTile + j)];
          }
          store(std::span(turned).first(static_cast<std::size_t>(rows)), c + j - first,
                one_.first_column + r, piece);
        }
      }
    }
  }

  /// Elements [c, c + count) of row r of theirs, as ours has them.
  std::span<const double> read(std::int64_t r, std::int64_t c, std::int64_t count,
                               std::span<double> into) {
    const std::int64_t first = part_.place(r, c, of_row_), step = part_.column_step,
                       length = (count - 1) * step + 1;
    const auto run = into.first(static_cast<std::size_t>(count));
    if (step == 1) {
      read_elements(theirs_, path_, static_cast<std::size_t>(first), run);
    } else {
      std::vector<double> with_others(static_cast<std::size_t>(length));
      read_elements(theirs_, path_, static_cast<std::size_t>(first), with_others);
      for (std::int64_t i = 0; i < count; ++i) {
        run[static_cast<std::size_t>(i)] = with_others[static_cast<std::size_t>(i * step)];
      }
    }
    for (double& value : run) {
      if (!(std::abs(value) <= largest_)) {
        from_.refuse(one_.theirs,
                     fmt::format("value {} is {}: expected numbers up to {:.4g}",
                                 first + (&value - run.data()) * step, value, largest_));
      }
      value /= one_.factor;
    }
    read_to_ = std::max(read_to_, first + length);
    // A square has kTile rows under way.
    if ((read_to_ - read_from_) * element_ > kRead + kTile * of_row_ * element_) forget_read();
    return run;
  }
  void forget_read() {
    from_.forget(one_.theirs, theirs_.bytes.subspan(
                                  static_cast<std::size_t>(read_from_ * element_),
                                  static_cast<std::size_t>((read_to_ - read_from_) * element_)));
    read_from_ = read_to_;
  }
  void store(std::span<const double> run, std::int64_t row, std::int64_t column,
             std::span<std::byte> piece) const {
    store_elements(dtype_, run,
                   piece.subspan(static_cast<std::size_t>((row * stride_ + column) * width_)));
  }

  const Counterpart& one_;
  const Pretrained& from_;
  std::filesystem::path path_;
  const StoredTensor& theirs_;
  double largest_;
  std::string dtype_;
  std::int64_t stride_, width_;
  TheirPart part_ = one_.region();
  std::int64_t rows_ = part_.rows, columns_ = part_.columns, of_row_ = one_.of_row();
  std::int64_t element_ = element_bytes(theirs_.dtype, path_);
  std::int64_t read_from_ = 0, read_to_ = 0;  ///< elements that are not forgotten
  std::array<double, kTile * kTile> tile_{};
};

}  // namespace

void make_in_pieces(const MadeMatrix& matrix, const Pretrained& from, const BytesTaker& take,
                    std::int64_t piece_bytes) {
  const std::int64_t row_bytes = matrix.columns * bytes_of(matrix.dtype),
                     at_once = std::max<std::int64_t>(
                         1, piece_bytes / std::max<std::int64_t>(1, row_bytes));
  std::vector<PartOfPiece> parts;
  for (const Counterpart* one : matrix.parts) parts.emplace_back(*one, from, matrix);
  std::vector<std::byte> piece;
  for (std::int64_t first = 0; first < matrix.rows; first += at_once) {
    const std::int64_t end = std::min(first + at_once, matrix.rows);
    piece.assign(static_cast<std::size_t>((end - first) * row_bytes), std::byte{});
    for (PartOfPiece& part : parts) part.put(first, end, piece);
    take(piece);
  }
}

bool is_not_rounded(const std::vector<const Counterpart*>& parts, const Pretrained& from) {
  return std::ranges::all_of(parts, [&](const Counterpart* one) {
    return one->factor == 1 && from.dtype(one->theirs) == "BF16";
  });
}

}  // namespace moe
