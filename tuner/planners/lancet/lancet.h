#pragma once

#include <string>
#include <vector>

#include "tuner/planners/planners.h"

namespace tuner {

/// Which of Lancet's passes a plan goes through.
struct LancetPasses {
  bool ranges = true;            ///< forward ops cut along the batch  [Lancet 5]
  bool weight_gradients = true;  ///< put behind the exchanges of backward  [Lancet 4]
};

/// Lancet: exchanges on a stream of their own, under dense ops of other parts of the batch in forward, under weight gradients in
/// backward. Ranges by the dynamic program over five groups of ops between neighbouring MoE layers, up to 8 parts, as far as
/// partition axes allow; costs of parts from the costs of whole and halved ops, t = a + b / parts. Layers whose gate needs the
/// whole batch are cut from behind it on, or along capacity. Ranges that `apply` refuses are left out.
moe::Schedule lancet_schedule(const Situation& situation, LancetPasses passes);

moe::Schedule plan_lancet(const Situation& situation, const PlannerOptions& options);

/// Lancet's own cost of an iteration: every op as soon as what it depends on and the op of its kind before it have
/// ended  [Lancet 5.3, over the whole iteration]. Kinds are those that are launched apart: the compute stream, and
/// all others.
double lancet_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// Both passes, and each alone (Lancet's Fig. 16).
std::vector<Candidate> lancet_candidates(const Situation& situation, const PlannerOptions& options);

/// What its schedule does, why layers are not cut along the batch or not over their gates, and what was left out.
std::string lancet_remark(const Situation& situation, const PlannerOptions& options,
                          const moe::Schedule& schedule);

}  // namespace tuner
