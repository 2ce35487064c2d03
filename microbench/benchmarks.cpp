#include "microbench/benchmarks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "db/console/format_rows.h"
#include "microbench/collectives/collectives.h"
#include "microbench/copies.h"
#include "microbench/gemm.h"
#include "microbench/interference.h"
#include "microbench/pairs/pairs.h"
#include "moe/errors.h"

namespace microbench {

std::int64_t memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

void require_sizes_fit_twice(const CommonOptions& common) {
  const auto largest = *std::max_element(common.sizes.begin(), common.sizes.end());
  if (largest <= memory_bytes() / 2) return;
  throw moe::InputError(fmt::format(
      "--sizes {}: buffers to send and to receive hold {} each: expected at most half of this "
      "machine's {}",
      common.sizes_text, db::format_cell("bytes", largest),
      db::format_cell("bytes", memory_bytes())));
}

bool is_chosen(const Benchmark& benchmark, std::string_view what) {
  return what == "all" || what == benchmark.name;
}

std::vector<Benchmark> benchmarks() {
  return {
      gemm_benchmark(),         copy_benchmark(), collective_benchmark(),
      interference_benchmark(), pair_benchmark(),
  };
}

}  // namespace microbench
