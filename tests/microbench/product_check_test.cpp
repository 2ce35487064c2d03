#include "microbench/product_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"

namespace microbench::product_check_test {
namespace {

template <typename T>
struct Stored {
  std::int64_t rows, columns;
  std::vector<T> elements = std::vector<T>(rows * columns);
  T& at(std::int64_t i, std::int64_t j) { return elements[i * columns + j]; }
  HostMatrix matrix(moe::DType dtype) const {
    return {std::as_bytes(std::span(elements)), dtype, rows, columns};
  }
};

template <typename T>
Stored<T> random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t key) {
  Stored<T> result{rows, columns};
  for (std::size_t i = 0; i < result.elements.size(); ++i) {
    result.elements[i] = static_cast<T>(
        static_cast<moe::Wide<T>>(moe::normal(moe::mix(moe::mix(key) ^ moe::mix(i)))));
  }
  return result;
}

/// C = A B + bias, added up in the wide type.
template <typename In, typename Out>
struct Example {
  Stored<In> a, b, bias;
  Stored<Out> c;
  moe::DType in, out;

  Example(std::int64_t m, std::int64_t n, std::int64_t k, moe::DType in_type, moe::DType out_type)
      : a(random_matrix<In>(m, k, 1)),
        b(random_matrix<In>(k, n, 2)),
        bias(random_matrix<In>(1, n, 3)),
        c{m, n},
        in(in_type),
        out(out_type) {
    multiply(a, b);
  }
  void multiply(Stored<In>& left, Stored<In>& right) {
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        moe::Wide<In> sum = bias.at(0, j);
        for (std::int64_t l = 0; l < left.columns; ++l) sum += left.at(i, l) * right.at(l, j);
        c.at(i, j) = static_cast<Out>(static_cast<moe::Wide<Out>>(sum));
      }
    }
  }
  std::int64_t wrong() const {
    return count_wrong_of_product({c.matrix(out), a.matrix(in), b.matrix(in), bias.matrix(in)});
  }
};

template <typename Test>
void in_every_type(std::int64_t m, std::int64_t n, std::int64_t k, const Test& test) {
  using moe::DType;
  test(Example<float, float>(m, n, k, DType::f32, DType::f32), "f32");
  test(Example<double, double>(m, n, k, DType::f64, DType::f64), "f64");
  test(Example<moe::Bf16, moe::Bf16>(m, n, k, DType::bf16, DType::bf16), "bf16");
  test(Example<moe::Bf16, float>(m, n, k, DType::bf16, DType::f32), "bf16 to f32");
}

TEST(ProductCheck, PassesRightProductsOfAnyShape) {
  for (const auto& [m, n, k] :
       {std::array{1, 1, 1}, {1, 50, 3}, {50, 1, 3}, {7, 5, 300}, {128, 128, 1}, {64, 200, 96}}) {
    in_every_type(m, n, k,
                  [](const auto& right, const char* type) { EXPECT_EQ(right.wrong(), 0) << type; });
  }
}

TEST(ProductCheck, FindsOneElement) {
  in_every_type(64, 96, 100, [](auto wrong, const char* type) {
    using Element = std::remove_cvref_t<decltype(wrong.c.at(0, 0))>;
    wrong.c.at(31, 7) = static_cast<Element>(static_cast<float>(wrong.c.at(31, 7)) + 12.0f);
    EXPECT_EQ(wrong.wrong(), 1) << type;
    for (const float no_number :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      wrong.c.at(31, 7) = static_cast<Element>(no_number);
      EXPECT_EQ(wrong.wrong(), 1) << type;
    }
  });
}

TEST(ProductCheck, FindsTheElementsOfARow) {
  in_every_type(64, 96, 100, [](auto wrong, const char* type) {
    for (std::int64_t j = 0; j < 96; ++j) wrong.c.at(12, j) = wrong.c.at(13, j);
    EXPECT_GE(wrong.wrong(), 48) << type;
    EXPECT_LE(wrong.wrong(), 96) << type;
  });
}

TEST(ProductCheck, FindsSwappedOperands) {
  in_every_type(64, 64, 64, [](auto wrong, const char* type) {
    wrong.multiply(wrong.b, wrong.a);
    EXPECT_GE(wrong.wrong(), 32) << type;
  });
}

TEST(ProductCheck, FindsAProductThatIsOnePercentTooLarge) {
  in_every_type(200, 150, 64, [](auto wrong, const char* type) {
    using Element = std::remove_cvref_t<decltype(wrong.c.at(0, 0))>;
    for (auto& element : wrong.c.elements) {
      element = static_cast<Element>(static_cast<moe::Wide<Element>>(element) *
                                     static_cast<moe::Wide<Element>>(1.01));
    }
    EXPECT_GE(wrong.wrong(), 1) << type;
  });
}

TEST(ProductCheck, FindsABiasThatIsMissing) {
  in_every_type(64, 96, 16, [](auto wrong, const char* type) {
    auto zeros = wrong.bias;
    std::ranges::fill(zeros.elements, 0.0f);
    std::swap(zeros, wrong.bias);
    wrong.multiply(wrong.a, wrong.b);
    EXPECT_EQ(wrong.wrong(), 0) << type;
    std::swap(zeros, wrong.bias);
    EXPECT_GE(wrong.wrong(), 32) << type;
  });
}

}  // namespace
}  // namespace microbench::product_check_test
