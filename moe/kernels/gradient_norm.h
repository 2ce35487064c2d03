#pragma once

#include <cmath>

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// sums[block] = weight times the sum of g^2 over a block of elements. A team per block; the sum is
/// in double.
template <class Real>
struct SumSquaresBody {
  const Real* gradient;
  Real* sums;
  std::int64_t count;
  double weight;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t block) const {
    const std::int64_t begin = block * SumSquares::kBlock;
    const std::int64_t left = count > begin ? count - begin : 0;
    const std::int64_t size = left < SumSquares::kBlock ? left : SumSquares::kBlock;
    const Real* g = gradient + begin;
    const double sum = team.sum(
        size,
        [](Real element) {
          const auto value = static_cast<double>(element);
          return value * value;
        },
        g);
    if (team.leader()) sums[block] = static_cast<Real>(weight * sum);
  }
};

/// sum = the sum of sums, or that more than before where `adds`. One team; the sum is in double.
template <class Real>
struct AddSquaresBody {
  const Real* sums;
  Real* sum;
  std::int64_t count;
  bool adds;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const Real* from = sums;
    const double more =
        team.sum(count, [=](std::int64_t i) { return static_cast<double>(from[i]); });
    if (team.leader()) {
      *sum = static_cast<Real>(adds ? static_cast<double>(*sum) + more : more);
    }
  }
};

/// norm = sqrt(sum), factor = min(1, largest_norm / (norm + 1e-6)), or -1 where the norm is above
/// the limit.   [Pascanu et al. 2013; the 1e-6 as in PyTorch]
template <class Real>
struct ClipFactorBody {
  const Real* sum;
  const Real* limit;  ///< may be null
  Real* norm;
  Real* factor;
  double largest_norm;

  MOE_BODY void operator()(std::int64_t) const {
    const double root = std::sqrt(static_cast<double>(*sum));
    const double wanted = largest_norm / (root + 1e-6);
    *norm = static_cast<Real>(root);
    const bool outlier = limit != nullptr && *norm > *limit;
    *factor = static_cast<Real>(outlier ? -1 : wanted < 1 ? wanted : 1);
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const SumSquares& op, const BoundOp& bound) {
  Real* sums = data_of<Real>(bound.writes[0]);
  const auto add = [&](const Real* gradient, std::int64_t blocks, std::int64_t count) {
    exec.rows(blocks, SumSquares::kBlock, SumSquaresBody<Real>{gradient, sums, count, op.weight});
    sums += blocks;
  };
  const Real* const end = sums + count_of(bound.writes[0]);
  for (const View& gradient : bound.reads) {
    const std::int64_t count = count_of(gradient);
    add(data_of<Real>(gradient), SumSquares::blocks_of(count), count);
  }
  add(sums, end - sums, 0);  // blocks that only the largest share of a gradient has
}

template <class Real, class Exec>
void launch(Exec& exec, const AddSquares&, const BoundOp& bound) {
  Real* sum = data_of<Real>(bound.writes[0]);
  bool adds = false;
  for (const View& sums : bound.reads) {
    exec.rows(1, count_of(sums),
              AddSquaresBody<Real>{data_of<Real>(sums), sum, count_of(sums), adds});
    adds = true;
  }
}

template <class Real, class Exec>
void launch(Exec& exec, const ClipFactor& op, const BoundOp& bound) {
  const Real* limit = bound.reads.size() > 1 ? data_of<Real>(bound.reads[1]) : nullptr;
  exec.elements(
      1, ClipFactorBody<Real>{data_of<Real>(bound.reads[0]), limit, data_of<Real>(bound.writes[0]),
                              data_of<Real>(bound.writes[1]), op.largest_norm});
}

}  // namespace moe
