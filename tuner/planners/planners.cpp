#include "tuner/planners/planners.h"

#include <fmt/format.h>

#include <charconv>

#include "moe/errors.h"
#include "moe/model/named.h"
#include "tuner/planners/eplb/eplb.h"
#include "tuner/planners/fastermoe/fastermoe.h"
#include "tuner/planners/fsmoe/fsmoe.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/planners/lancet/lancet.h"
#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/most_loaded/most_loaded.h"
#include "tuner/planners/mpmoe/mpmoe.h"
#include "tuner/planners/mpmoe/performance_model.h"
#include "tuner/planners/mpmoe/pmoe.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipemoe/pipemoe.h"
#include "tuner/planners/pipemoe_lina/pipemoe_lina.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/pro_prophet/pro_prophet.h"
#include "tuner/planners/sequential/sequential.h"
#include "tuner/planners/smartmoe/smartmoe.h"
#include "tuner/planners/tutel/tutel.h"
#include "tuner/planners/tutel_improved/tutel_improved.h"
#include "tuner/planners/two_batch/two_batch.h"

namespace tuner {

const std::vector<Planner>& planners() {
  static const std::vector<Planner> all{
      {"sequential", "one stream, nothing overlapped: DeepSpeed-MoE style", plan_sequential,
       sequential_paper_seconds, sequential_candidates},
      {"tutel",
       "fixed degree (tutel:R, default 2): all-to-all beside experts, the same R forward and "
       "backward",
       plan_tutel, pipelined_iteration_s, tutel_candidates, true},
      {"pipemoe", "best degree by model, forward and backward apart: all-to-all beside experts",
       plan_pipemoe, pipelined_iteration_s, pipemoe_candidates, false, pipemoe_remark},
      {"tutel_improved", "pipemoe, and gradients of a block all-reduced beside what is no experts",
       plan_tutel_improved, pipelined_iteration_s, tutel_improved_candidates},
      {"pipemoe_lina",
       "pipemoe, and gradients all-reduced in chunks of 30 MB wherever the exchange leaves time",
       plan_pipemoe_lina, pipelined_iteration_s, pipemoe_lina_candidates},
      {"fsmoe_no_iio", "fsmoe with one stream for what crosses nodes and what stays inside them",
       plan_fsmoe_no_iio, pipelined_iteration_s, fsmoe_no_iio_candidates, false, fsmoe_remark},
      {"fsmoe",
       "what stays inside nodes beside what crosses them, gradients all-reduced in pieces that fit "
       "what is idle",
       plan_fsmoe, pipelined_iteration_s, fsmoe_candidates, false, fsmoe_remark},
      {"lancet",
       "exchanges under dense ops of other parts of the batch, and under weight gradients",
       plan_lancet, lancet_paper_seconds, lancet_candidates, false, lancet_remark},
      {"pmoe",
       "as many chunks forward as backward, as many as a search finds best, sharing no buffers",
       plan_pmoe, mpmoe::modelled_iteration_s, pmoe_candidates},
      {"mpmoe_pb",
       "pmoe with buffers shared among chunks: chunks and how backward restores them by profiles",
       plan_mpmoe_pb, mpmoe_paper_seconds, mpmoe_pb_candidates, false, mpmoe_remark, true, true},
      {"mpmoe_pm", "the same by a performance model with interference", plan_mpmoe_pm,
       mpmoe_paper_seconds, mpmoe_pm_candidates, false, mpmoe_remark, true},
      {"fastermoe",
       "popular experts on all ranks, exchanges with groups of ranks beside the experts",
       plan_fastermoe, blocking_iteration_s, fastermoe_candidates, false, placement_remark},
      {"top2", "in every MoE layer the 2 most loaded experts on all ranks", plan_top2,
       blocking_iteration_s, top2_candidates, false, placement_remark},
      {"top3", "in every MoE layer the 3 most loaded experts on all ranks", plan_top3,
       blocking_iteration_s, top3_candidates, false, placement_remark},
      {"eplb", "copies of loaded experts packed onto a spare slot of every rank", plan_eplb,
       blocking_iteration_s, eplb_candidates, false, placement_remark},
      {"smartmoe_greedy",
       "experts moved for good, with their optimizer state, to where the largest load falls",
       plan_smartmoe_greedy, blocking_iteration_s, smartmoe_greedy_candidates, false,
       placement_remark},
      {"pro_prophet_planner",
       "experts sent, by search, to the ranks that have most rows for them; nothing overlapped",
       plan_pro_prophet_planner, blocking_iteration_s, pro_prophet_planner_candidates, false,
       placement_remark},
      {"pro_prophet_scheduler", "the same, sent beside what the blocks before compute",
       plan_pro_prophet_scheduler, overlapped_iteration_s, pro_prophet_scheduler_candidates, false,
       placement_remark},
      {"pro_prophet", "the same, by a search that knows what is hidden so", plan_pro_prophet,
       overlapped_iteration_s, pro_prophet_candidates, false, placement_remark},
      {"gpipe", "micro-batches through pipeline stages: all forward, then all backward", plan_gpipe,
       micro_batch_order_paper_seconds, gpipe_candidates},
      {"one_f_one_b", "micro-batches through pipeline stages: one forward, one backward (1F1B)",
       plan_one_f_one_b, micro_batch_order_paper_seconds, one_f_one_b_candidates},
      {"two_batch",
       "the backward pass of a micro-batch among the forward pass of the next, rows of one "
       "travelling while the other computes",
       plan_two_batch, two_batch_paper_seconds, two_batch_candidates},
      {"joint",
       "all decisions together, by search from what all the others plan, within the memory there "
       "is",
       plan_joint, lancet_paper_seconds, joint_candidates, false, joint_remark, true},
  };
  return all;
}

const Planner& planner_named(std::string_view name) {
  return moe::find_named(planners(), name, "planner");
}

PlannerRequest parse_planner(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  PlannerRequest request;
  request.planner = &planner_named(name);
  if (colon != std::string_view::npos) {
    if (!request.planner->takes_degree) {
      throw moe::InputError(fmt::format("planner \"{}\": {} takes no degree", text, name));
    }
    const std::string_view degree = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(degree.data(), degree.data() + degree.size(), request.options.degree);
    if (error != std::errc() || end != degree.data() + degree.size() ||
        request.options.degree < 1) {
      throw moe::InputError(
          fmt::format("planner \"{}\": a degree of 1 or more expected after the colon", text));
    }
  }
  return request;
}

std::vector<PlannerRequest> parse_planners(std::string_view text) {
  std::vector<PlannerRequest> requests;
  while (true) {
    const auto comma = text.find(',');
    requests.push_back(parse_planner(text.substr(0, comma)));
    if (comma == std::string_view::npos) return requests;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tuner
