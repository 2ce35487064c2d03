#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "moe/backend/product_ways.h"

namespace moe {

/// The text of an algorithm of cublasLt, which may be stored and read again by the same version of
/// the library.                                                    [cuBLAS: cublasLtMatmulAlgo_t]
std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm);
/// None for a text that is no algorithm.
std::optional<cublasLtMatmulAlgo_t> algorithm_of(const std::string& text);

/// The ways that were chosen for products of one stream, and what they came to for the products
/// that were carried out since.
class ChosenWays {
 public:
  void take(std::vector<ProductWay> ways) {
    ways_ = std::move(ways);
    known_.clear();
  }
  bool empty() const { return ways_.empty(); }
  const std::vector<ProductWay>& all() const { return ways_; }

  /// The algorithm for a product; nullptr where the library chooses. `can(algorithm)` is asked once
  /// for each product whether the library can carry it out so.
  template <class Can>
  const cublasLtMatmulAlgo_t* at(const Product& product, const Can& can) {
    if (ways_.empty()) return nullptr;
    const auto [found, is_new] = known_.try_emplace(product);
    Known& known = found->second;
    if (is_new) {
      const ProductWay* const way = way_of(ways_, product);
      const auto stored = way == nullptr ? std::nullopt : algorithm_of(way->algorithm);
      if (stored && can(*stored)) known = {true, *stored};
    }
    return known.chosen ? &known.algorithm : nullptr;
  }

 private:
  std::vector<ProductWay> ways_;
  /// Not an optional: nvcc 13.0 fails where one is assigned whose type has no name of its own.
  struct Known {
    bool chosen = false;
    cublasLtMatmulAlgo_t algorithm{};
  };
  std::map<Product, Known> known_;
};

}  // namespace moe
