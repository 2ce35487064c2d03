#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"

/// The ways in which a training's devices carried out their matrix products.
namespace db {

struct RunProduct {
  std::int64_t run_id = 0;
  std::string library;    ///< what multiplied, and on what: moe/backend/backend.h, multiplies_by
  std::string product;    ///< as moe/train/chosen_products.h writes it
  std::string algorithm;  ///< the library's own text; "" where it chose itself
  double duration_s = 0;
  double unasked_s = 0;  ///< what the library's own choice took
};

/// Throws Error as store.h says.
void insert(Connection&, std::span<const RunProduct>);
/// Ordered by library and product. Throws Error.
std::vector<RunProduct> load_run_products(const Connection&, std::int64_t run_id);
/// The ways that trainings took by this library, each product as the first of them took it. Throws
/// Error.
std::vector<RunProduct> load_products_of(const Connection&, const std::string& library);

}  // namespace db
