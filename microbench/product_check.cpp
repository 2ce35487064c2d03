#include "microbench/product_check.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"
#include "moe/kernels/with_type.h"

namespace microbench {
namespace {

using Numbers = std::vector<double>;

constexpr double kDeviations = 7;

double unit_roundoff(moe::DType dtype) {
  switch (dtype) {
    case moe::DType::f32:
      return 0x1p-24;
    case moe::DType::f64:
      return 0x1p-53;
    case moe::DType::bf16:
      return 0x1p-8;
    case moe::DType::i32:
    case moe::DType::remainder:
      break;
  }
  throw std::logic_error("check of a product: a matrix of integers");
}

HostMatrix transposed(HostMatrix matrix) {
  matrix.transposed = !matrix.transposed;
  return matrix;
}
std::int64_t rows_of(const HostMatrix& m) { return m.transposed ? m.columns : m.rows; }
std::int64_t columns_of(const HostMatrix& m) { return m.transposed ? m.rows : m.columns; }

/// A matrix times a vector, and the squares of its rows added up.
struct Image {
  Numbers value, squares;
};

template <typename T>
Image image_in(const HostMatrix& m, const Numbers& v) {
  const auto* row = reinterpret_cast<const T*>(m.bytes.data());
  Image image{Numbers(rows_of(m)), Numbers(rows_of(m))};
  for (std::int64_t i = 0; i < m.rows; ++i, row += m.columns) {
    if (m.transposed) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        const auto x = static_cast<double>(row[j]);
        image.value[j] += x * v[i];
        image.squares[j] += x * x;
      }
      continue;
    }
    double value = 0, squares = 0;
    for (std::int64_t j = 0; j < m.columns; ++j) {
      const auto x = static_cast<double>(row[j]);
      value += x * v[j];
      squares += x * x;
    }
    image.value[i] = value, image.squares[i] = squares;
  }
  return image;
}

Image image_of(const HostMatrix& m, const Numbers& v) {
  return moe::with_type(m.dtype, [&](auto type) { return image_in<decltype(type)>(m, v); });
}

double total(const Numbers& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

Numbers random_signs(std::int64_t count, std::uint64_t key) {
  Numbers signs(count);
  for (std::int64_t i = 0; i < count; ++i) {
    signs[i] = moe::mix(key ^ moe::mix(static_cast<std::uint64_t>(i))) & 1 ? 1 : -1;
  }
  return signs;
}

struct Differences {
  std::int64_t wrong_rows = 0;
  bool wrong_together = false;
};

/// Of the rows of C. added[i]: what the bias adds to row i of C r.
Differences differences(const HostMatrix& c, const HostMatrix& a, const HostMatrix& b,
                        const Numbers& signs, const Numbers& added) {
  const Image of_c = image_of(c, signs), of_b = image_of(b, signs);
  const Image of_a = image_of(a, of_b.value);
  const double sums = unit_roundoff(moe::wide_of(c.dtype));
  const double stored = unit_roundoff(c.dtype) + sums;
  const double depth = std::sqrt(static_cast<double>(columns_of(b) + columns_of(a)));
  const double of_all_b = depth * sums * std::sqrt(total(of_b.squares));
  Differences found;
  double off = 0, allowed = 0;
  for (std::size_t i = 0; i < of_c.value.size(); ++i) {
    const double difference = of_c.value[i] - of_a.value[i] - added[i];
    const double error =
        stored * std::sqrt(of_c.squares[i]) + of_all_b * std::sqrt(of_a.squares[i]);
    // No comparison holds with what is no number, and infinity allows everything.
    const bool right = std::isfinite(error) && std::abs(difference) <= kDeviations * error;
    found.wrong_rows += !right;
    off += difference * difference, allowed += error * error;
  }
  const auto rows = static_cast<double>(std::max<std::size_t>(of_c.value.size(), 1));
  const double room = kDeviations * kDeviations;
  found.wrong_together = !(off <= allowed * (1 + std::sqrt(2 * room / rows) + room / rows));
  return found;
}

}  // namespace

std::int64_t count_wrong_of_product(const CheckedProduct& product) {
  const HostMatrix &c = product.c, &a = product.a, &b = product.b;
  const std::int64_t rows = rows_of(c), columns = columns_of(c);
  const Numbers right = random_signs(columns, 1), left = random_signs(rows, 2);
  Numbers to_rows(rows), to_columns(columns);
  if (!product.bias.bytes.empty()) {
    const HostMatrix bias = product.bias;
    std::ranges::fill(to_rows, image_of(bias, right).value.at(0));
    to_columns = image_of(transposed(bias), {total(left)}).value;
  }
  const Differences by_row = differences(c, a, b, right, to_rows);
  const Differences by_column =
      differences(transposed(c), transposed(b), transposed(a), left, to_columns);
  const std::int64_t together = by_row.wrong_together || by_column.wrong_together;
  return std::max({by_row.wrong_rows, by_column.wrong_rows, together});
}

}  // namespace microbench
