#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// y[i] = the sum of element i of every block, in rank order.
template <class Stored>
struct SumSharesBody {
  const Stored* shares;
  std::int64_t blocks;
  std::int64_t block_elements;
  Stored* y;
  MOE_BODY void operator()(std::int64_t i) const {
    Wide<Stored> sum = shares[i];
    for (std::int64_t block = 1; block < blocks; ++block) sum += shares[block * block_elements + i];
    y[i] = sum;
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const SumShares&, const BoundOp& bound) {
  const View& shares = bound.reads[0];
  const View& sum = bound.writes[0];
  const Stored* from = data_of<Stored>(shares);
  Stored* to = data_of<Stored>(sum);
  for_each_run(bound, sum.columns, [&](std::int64_t first, std::int64_t count) {
    exec.elements(count, SumSharesBody<Stored>{from + first, shares.columns / sum.columns,
                                               sum.rows * sum.columns, to + first});
  });
}

}  // namespace moe
