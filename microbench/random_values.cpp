#include "microbench/random_values.h"

#include "moe/kernels/fill.h"

namespace microbench {

void fill_random(moe::Backend& backend, const moe::View& matrix, std::uint64_t which) {
  constexpr std::int64_t kSeed = 1;
  moe::InitialValues values;
  values.standard_deviation = 1;
  values.key = moe::parameter_key(kSeed, which);
  values.columns = values.shard.of_columns = matrix.columns;
  values.held = {0, moe::count_of(matrix)};
  backend.fill(matrix, values);
}

void fill_constant(moe::Backend& backend, const moe::View& matrix, double number) {
  moe::InitialValues values;
  values.constant = number;
  backend.fill(matrix, values);
}

}  // namespace microbench
