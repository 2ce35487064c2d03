#pragma once

#include "moe/kernels/device.h"
#include "moe/kernels/view.h"

namespace moe {

/// A team per token.
template <class Real>
struct AddExpertBiasBody {
  const Real* scores;
  const Real* bias;
  Real* ranking;
  std::int64_t experts;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t t) const {
    const Real* score = scores + t * experts;
    const Real* shift = bias;
    Real* out = ranking + t * experts;
    team.for_each(experts, [=](std::int64_t e) { out[e] = score[e] + shift[e]; });
  }
};

template <class Real>
struct SumExpertLoadsBody {
  const std::int32_t* demand;
  Real* loads;
  bool accumulate;

  MOE_BODY void operator()(std::int64_t e) const {
    const Real here = static_cast<Real>(demand[e]);
    loads[e] = accumulate ? loads[e] + here : here;
  }
};

/// Compares in whole numbers, E times a load with the sum of all loads. One team.
template <class Real>
struct AdjustExpertBiasBody {
  const Real* loads;
  Real* bias;
  std::int64_t experts;
  Real speed;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t) const {
    const Real* load = loads;
    Real* out = bias;
    const Real step = speed;
    const std::int64_t all = experts;
    const std::int64_t sum =
        team.sum(all, [=](std::int64_t e) { return static_cast<std::int64_t>(load[e]); });
    team.for_each(all, [=](std::int64_t e) {
      const std::int64_t asked = all * static_cast<std::int64_t>(load[e]);
      out[e] += asked < sum ? step : asked > sum ? -step : Real(0);
    });
  }
};

template <class Real, class Exec>
void launch(Exec& exec, const AddExpertBias&, const BoundOp& bound) {
  const View& ranking = bound.writes[0];
  exec.rows(ranking.rows, ranking.columns,
            AddExpertBiasBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bound.reads[1]),
                                    data_of<Real>(ranking), ranking.columns});
}

template <class Real, class Exec>
void launch(Exec& exec, const SumExpertLoads& op, const BoundOp& bound) {
  exec.elements(count_of(bound.writes[0]),
                SumExpertLoadsBody<Real>{data_of<std::int32_t>(bound.reads[0]),
                                         data_of<Real>(bound.writes[0]), op.accumulate});
}

template <class Real, class Exec>
void launch(Exec& exec, const AdjustExpertBias& op, const BoundOp& bound) {
  const View& bias = bound.writes[0];
  exec.rows(1, bias.columns,
            AdjustExpertBiasBody<Real>{data_of<Real>(bound.reads[0]), data_of<Real>(bias),
                                       bias.columns, static_cast<Real>(op.speed)});
}

}  // namespace moe
