#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include "moe/rows/tensor.h"

/// Matrix products that a device can carry out in several ways, which differ in time and in bits.
namespace moe {

/// C[m,n] = op(A)[m,k] op(B)[k,n] + beta C (+ bias), as kernels/gemm.h has it, of matrices without
/// gaps between rows; `batch` times. `grouped`: so many products of one kind, each with a number of
/// tokens of its own and too small to fill the device.
struct Product {
  DType in = DType::f32, out = DType::f32;
  bool transpose_a = false, transpose_b = false, accumulate = false, biased = false,
       grouped = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};
/// nvcc 13.0 does not make comparisons that are left to the compiler.
inline auto all_of(const Product& product) {
  const Product& p = product;
  return std::tuple(p.in, p.out, p.transpose_a, p.transpose_b, p.accumulate, p.biased, p.grouped,
                    p.m, p.n, p.k, p.batch);
}
inline bool operator==(const Product& a, const Product& b) { return all_of(a) == all_of(b); }
inline bool operator<(const Product& a, const Product& b) { return all_of(a) < all_of(b); }

/// The size that follows the tokens, the others being those of a weight: a gradient of one sums up
/// over the tokens.
inline std::int64_t tokens_of(const Product& product) {
  return product.transpose_a ? product.k : product.m;
}
inline Product with_tokens(Product product, std::int64_t tokens) {
  (product.transpose_a ? product.k : product.m) = tokens;
  return product;
}

/// The way that was the fastest for a product. `algorithm` is the library's own text, which its
/// version understands; "" is what the library does unasked.
struct ProductWay {
  Product product;
  std::string algorithm;
  double duration_s = 0;
  double unasked_s = 0;  ///< what the library's own choice took
};

/// The way of the product, or of the one that has the nearest number of tokens, at most half or
/// twice as many; nullptr where there is none. It does not depend on the order of the ways. A group
/// may have another number of products, since experts without tokens have none.
inline const ProductWay* way_of(std::span<const ProductWay> ways, const Product& product) {
  const auto tokens = tokens_of(product);
  const ProductWay* nearest = nullptr;
  const auto apart = [tokens](const ProductWay& way) {
    const std::int64_t other = tokens_of(way.product);
    return static_cast<double>(std::max(tokens, other)) /
           static_cast<double>(std::max<std::int64_t>(1, std::min(tokens, other)));
  };
  for (const ProductWay& way : ways) {
    Product alike = with_tokens(way.product, tokens);
    if (alike.grouped) alike.batch = product.batch;
    if (alike != product || apart(way) > 2) continue;
    const bool nearer = nearest == nullptr || apart(way) < apart(*nearest) ||
                        (apart(way) == apart(*nearest) && way.product < nearest->product);
    if (nearer) nearest = &way;
  }
  return nearest;
}

}  // namespace moe
