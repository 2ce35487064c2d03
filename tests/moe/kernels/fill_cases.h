#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/kernels/initial_values.h"

/// Tensors with their initial values, on any backend.
namespace moe::test {

struct FillCase {
  std::string name;
  std::int64_t rows = 1, columns = 1;  ///< of the tensor
  InitialValues values;
};

/// Whole parameters, parts of every kind, and shares.
std::vector<FillCase> fill_cases();

/// The elements of the tensor on a backend, as doubles; what is around it must stay.
std::vector<double> filled(Backend& backend, const FillCase& fill, DType dtype);

/// The same, element by element as moe/train/initialize.h defines them.
std::vector<double> expected_values(const FillCase& fill, DType dtype);

}  // namespace moe::test
