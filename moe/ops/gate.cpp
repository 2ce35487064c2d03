#include "moe/ops/gate.h"

#include <fmt/format.h>

#include "moe/errors.h"
#include "moe/rows/op_sizes.h"

namespace moe {

Work Softmax::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work SoftmaxGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }
Work SelectExperts::work(const OpSizes& s) const { return s.element_wise(s.in(0), choices); }
std::optional<Refusal> SelectExperts::refusal_to_cut() const {
  if (!capacity || drop == Drop::position || (drop == Drop::choice && choices == 1)) return {};
  return Refusal(
      "",
      fmt::format("gate \"{}\" with choices = {} and drop = \"{}\" needs the whole batch", gate,
                  choices, drop_name(drop)),
      fmt::format("expected drop = \"position\"{} or capacity_factor = \"dropless\"",
                  drop == Drop::choice ? ", choices = 1" : ""));
}
Work KeepBestGroups::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }
Work SelectExpertsGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work SoftmaxGateGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 8); }
Work LoadBalancingLoss::work(const OpSizes& s) const { return s.element_wise(s.in(0), 2); }
Work RouterZLoss::work(const OpSizes& s) const { return s.element_wise(s.in(0), 5); }
Work RouterZLossGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 5); }
Work LoadBalancingLossGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }

}  // namespace moe
