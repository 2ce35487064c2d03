#include "tuner/planners/planners.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "db/console/shown_text.h"
#include "db/records.h"
#include "moe/errors.h"
#include "moe/model/named.h"
#include "tuner/planners/after_gate/after_gate.h"
#include "tuner/planners/eplb/eplb.h"
#include "tuner/planners/fastermoe/fastermoe.h"
#include "tuner/planners/flowmoe/flowmoe.h"
#include "tuner/planners/fsmoe/fsmoe.h"
#include "tuner/planners/joint/joint.h"
#include "tuner/planners/lancet/lancet.h"
#include "tuner/planners/lplb/lplb.h"
#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/micro_batch_order/two_batch.h"
#include "tuner/planners/micro_batch_order/zero_bubble.h"
#include "tuner/planners/most_loaded/most_loaded.h"
#include "tuner/planners/mpmoe/mpmoe.h"
#include "tuner/planners/mpmoe/performance_model.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipelined/pipelined.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/pro_prophet/pro_prophet.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/planners/smartmoe/smartmoe.h"

namespace tuner {
namespace {

/// The sum of all ops, each on its slowest rank.
double sum_of_ops_s(const Situation& situation, const moe::Schedule& schedule) {
  const std::vector<double> seconds = timed(situation, schedule).alone_s;
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

}  // namespace

const std::vector<Planner>& planners() {
  static const std::vector<Planner> all{
      {.name = db::kSequential,
       .description = "one stream, nothing overlapped, as DeepSpeed-MoE trains",
       .plan =
           [](const Situation&, const PlannerOptions&) {
             return moe::Schedule{db::kSequential, {}};
           },
       .paper_seconds = sum_of_ops_s,
       .passes = Passes::one_after_other,
       .keeps_to_memory = true},
      {.name = "tutel",
       .description = "a fixed degree, 2 unless asked: all-to-all beside experts, in equal chunks "
                      "forward and backward",
       .plan = plan_tutel,
       .paper_seconds = pipelined_iteration_s,
       .candidates = tutel_candidates,
       .parameters = degrees_json,
       .options = {kDegree, kMostChunks}},
      {.name = "pipemoe",
       .description = "tutel with the best degrees by simulation, forward and backward apart",
       .plan = plan_pipemoe,
       .paper_seconds = pipelined_iteration_s,
       .candidates = pipemoe_candidates,
       .parameters = degrees_json,
       .remark = pipemoe_remark,
       .options = {kMostChunks}},
      {.name = "tutel_improved",
       .description = "pipemoe, and a block's gradients all-reduced while dense layers compute",
       .plan = plan_tutel_improved,
       .paper_seconds = pipelined_iteration_s,
       .parameters = degrees_json,
       .options = {kMostChunks, kReleasedDegree}},
      {.name = "pipemoe_lina",
       .description =
           "pipemoe, and gradients all-reduced in slices of 30 MB wherever the stream of "
           "the all-to-all is idle",
       .plan = plan_pipemoe_lina,
       .paper_seconds = pipelined_iteration_s,
       .parameters = degrees_json,
       .options = {kSliceMegabytes, kMostChunks}},
      {.name = "fsmoe_no_iio",
       .description = "fsmoe with one stream for all communication",
       .paper_seconds = pipelined_iteration_s,
       .candidates =
           [](const Situation& situation, const PlannerOptions& options) {
             return fsmoe_candidates(situation, options, InNode::with_the_rest);
           },
       .parameters = degrees_json,
       .remark = fsmoe_remark,
       .options = {kMostChunks}},
      {.name = "fsmoe",
       .description = "communication inside nodes beside communication between them; gradients "
                      "all-reduced in slices that fit the idle time of backward",
       .paper_seconds = pipelined_iteration_s,
       .candidates =
           [](const Situation& situation, const PlannerOptions& options) {
             return fsmoe_candidates(situation, options, InNode::beside);
           },
       .parameters = degrees_json,
       .remark = fsmoe_remark,
       .options = {kMostChunks}},
      {.name = "lancet",
       .description = "exchanges beside dense ops of other parts of the batch, and beside weight "
                      "gradients",
       .plan = plan_lancet,
       .paper_seconds = lancet_paper_seconds,
       .candidates = lancet_candidates,
       .remark = lancet_remark,
       .options = {kMostParts},
       .cuts_batch = true},
      {.name = "pmoe",
       .description =
           "equal chunks forward and backward, as many as a search finds best; no shared "
           "buffers",
       .plan = plan_pmoe,
       .paper_seconds = mpmoe::modelled_iteration_s,
       .parameters = degrees_json,
       .options = {kDegree, kMostChunks},
       .keeps_to_memory = true},
      {.name = "mpmoe_pb",
       .description = "pmoe with buffers that chunks share; the chunks, and how backward restores "
                      "the buffers, by short trainings",
       .plan = plan_mpmoe_pb,
       .paper_seconds = mpmoe::modelled_iteration_s,
       .candidates = mpmoe_pb_candidates,
       .parameters = mpmoe_parameters,
       .remark = mpmoe_remark,
       .options = {kMostChunks, kReleasedSearch},
       .offloads = true,
       .measures = true,
       .keeps_to_memory = true},
      {.name = "mpmoe_pm",
       .description = "mpmoe_pb by a performance model with interference",
       .plan = plan_mpmoe_pm,
       .paper_seconds = mpmoe::modelled_iteration_s,
       .candidates = mpmoe_pm_candidates,
       .parameters = mpmoe_parameters,
       .remark = mpmoe_remark,
       .options = {kMostChunks},
       .offloads = true,
       .keeps_to_memory = true},
      {.name = "fastermoe",
       .description = "popular experts on all ranks; rows exchanged by groups of ranks beside the "
                      "experts",
       .paper_seconds = placed_paper_s,
       .candidates = fastermoe_candidates,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kRanksPerGroup, kReleasedShadows}},
      {.name = "top2",
       .description = "in every MoE layer the 2 most loaded experts on all ranks",
       .paper_seconds = placed_paper_s,
       .candidates = [](const Situation& situation,
                        const PlannerOptions&) { return top_candidates(situation, 2); },
       .parameters = placed_json,
       .remark = placement_remark},
      {.name = "top3",
       .description = "in every MoE layer the 3 most loaded experts on all ranks",
       .paper_seconds = placed_paper_s,
       .candidates = [](const Situation& situation,
                        const PlannerOptions&) { return top_candidates(situation, 3); },
       .parameters = placed_json,
       .remark = placement_remark},
      {.name = "eplb",
       .description = "copies of loaded experts packed onto a spare slot of every rank",
       .plan = plan_eplb,
       .paper_seconds = placed_paper_s,
       .candidates = eplb_candidates,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kSpareSlots}},
      {.name = "lplb",
       .description = "the heaviest experts of a rank on others too; their rows shared out after "
                      "the gate so that loads are even",
       .paper_seconds = placed_paper_s,
       .candidates = lplb_candidates,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kReplicas, kFiveSteps}},
      {.name = "micro_moe",
       .description = "eplb's copies; their rows shared out after the gate so that loads are even",
       .plan = plan_micro_moe,
       .paper_seconds = placed_paper_s,
       .candidates = micro_moe_candidates,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kSpareSlots}},
      {.name = "ultraep",
       .description = "experts sent after the gate to ranks with room, under the least threshold "
                      "that a greedy plan reaches",
       .candidates = ultraep_candidates,
       .parameters = after_gate_parameters,
       .remark = placement_remark,
       .options = {kSlots, kSharedSlots}},
      {.name = "feplb",
       .description = "ultraep among the ranks of each node, so that no expert leaves it",
       .candidates = feplb_candidates,
       .parameters = after_gate_parameters,
       .remark = placement_remark,
       .options = {kSlots, kSharedSlots}},
      {.name = "moonep",
       .description = "experts sent after the gate so that every rank computes equally many rows",
       .candidates = moonep_candidates,
       .parameters = after_gate_parameters,
       .remark = placement_remark,
       .options = {kSlots, kSharedSlots}},
      {.name = "llep",
       .description = "experts sent after the gate to the least loaded ranks, in chunks of rows "
                      "that are worth it",
       .candidates = llep_candidates,
       .parameters = after_gate_parameters,
       .remark = placement_remark,
       .options = {kSlots, kSharedSlots, kAlpha, kLeastRows}},
      {.name = "smartmoe_greedy",
       .description =
           "experts move to other ranks for good, with their optimizer state, where that "
           "lowers the largest load",
       .plan = plan_smartmoe_greedy,
       .paper_seconds = placed_paper_s,
       .candidates = smartmoe_greedy_candidates,
       .remark = placement_remark},
      {.name = "pro_prophet_planner",
       .description = "experts sent, by search, to the ranks that have most rows for them; nothing "
                      "overlapped",
       .plan = plan_pro_prophet_planner,
       .paper_seconds = placed_paper_s,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kBalance, kLeftOut, kReleased}},
      {.name = "pro_prophet_scheduler",
       .description = "pro_prophet_planner, with experts sent while earlier blocks compute",
       .plan = plan_pro_prophet_scheduler,
       .paper_seconds = placed_paper_s,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kBalance, kLeftOut, kReleased}},
      {.name = "pro_prophet",
       .description = "pro_prophet_scheduler, by a search that knows that transfers are hidden",
       .plan = plan_pro_prophet,
       .paper_seconds = placed_paper_s,
       .parameters = placed_json,
       .remark = placement_remark,
       .options = {kBalance, kLeftOut, kReleased}},
      {.name = "gpipe",
       .description = "micro-batches through pipeline stages: all forward, then all backward",
       .plan = plan_gpipe,
       .paper_seconds = micro_batch_order_paper_seconds,
       .candidates = gpipe_candidates,
       .parameters = stages_json,
       .remark = order_remark,
       .passes = Passes::filled_and_drained,
       .keeps_all = true},
      {.name = "one_f_one_b",
       .description = "micro-batches through pipeline stages: one forward, one backward (1F1B)",
       .plan = plan_one_f_one_b,
       .paper_seconds = micro_batch_order_paper_seconds,
       .candidates = one_f_one_b_candidates,
       .parameters = stages_json,
       .remark = order_remark,
       .passes = Passes::filled_and_drained},
      {.name = "zero_bubble",
       .description = "micro-batches through pipeline stages: as 1F1B, with gradients of weights "
                      "where a stage would wait",
       .plan = plan_zero_bubble,
       .paper_seconds = zero_bubble_paper_seconds,
       .candidates = zero_bubble_candidates,
       .parameters = zero_bubble_parameters,
       .remark = order_remark,
       .options = {kZeroBubbleMemory},
       .passes = Passes::bubbles_filled},
      {.name = "zero_bubble_v",
       .description =
           "zero_bubble with two chunks of blocks in every stage, which rows pass down the "
           "stages and back",
       .plan = plan_zero_bubble_v,
       .paper_seconds = zero_bubble_v_paper_seconds,
       .candidates = zero_bubble_v_candidates,
       .parameters = zero_bubble_v_parameters,
       .remark = order_remark,
       .options = {kVInFlight},
       .passes = Passes::bubbles_filled},
      {.name = "interleaved",
       .description = "as 1F1B, with several chunks of blocks in every stage, so that pipelines "
                      "fill and drain faster",
       .plan = plan_interleaved,
       .paper_seconds = micro_batch_order_paper_seconds,
       .candidates = interleaved_candidates,
       .parameters = stages_json,
       .remark = order_remark,
       .options = {kStageChunks},
       .passes = Passes::bubbles_filled},
      {.name = "two_batch",
       .description = "the backward pass of a micro-batch beside the forward pass of the next: one "
                      "computes while rows of the other travel",
       .plan = plan_two_batch,
       .paper_seconds = two_batch_paper_seconds,
       .candidates = two_batch_candidates,
       .remark = order_remark,
       .passes = Passes::exchanges_hidden},
      {.name = "flowmoe",
       .description = "micro-batches in groups, attention and experts of one beside exchanges of "
                      "the others, forward and backward; gradients all-reduced in slices between",
       .plan = plan_flowmoe,
       .paper_seconds = flowmoe_paper_seconds,
       .candidates = flowmoe_candidates,
       .parameters = flowmoe_parameters,
       .remark = order_remark,
       .options = {kTogether, kSliceKib},
       .passes = Passes::exchanges_hidden},
      {.name = kJoint,
       .description =
           "all decisions together, by a search that starts from the plans of all others "
           "and keeps to the memory of a rank",
       .plan =
           [](const Situation& situation, const PlannerOptions& options) {
             return plan_joint(situation, options, planners());
           },
       .paper_seconds = lancet_paper_seconds,
       .remark = joint_remark,
       .options = {kMostTried, kMostChunks},
       .cuts_batch = true,
       .offloads = true,
       .keeps_to_memory = true},
  };
  return all;
}

const Planner& planner_named(std::string_view name) {
  return moe::find_named(planners(), name, "planner");
}

namespace {

std::string range_of(const PlannerOption& option) {
  return fmt::format("{}={:.15g}..{:.15g}", option.key, option.least, option.most);
}

std::string range_text(const PlannerOption& option) {
  return option.whole ? db::integer_range(static_cast<std::int64_t>(option.least),
                                          static_cast<std::int64_t>(option.most))
                      : fmt::format("a number from {:.15g} to {:.15g}", option.least, option.most);
}

[[noreturn]] void refuse(std::string_view request, const Planner& planner,
                         const std::string& reason) {
  const std::string options = options_text(planner);
  throw moe::InputError(fmt::format("planner \"{}\": {}: expected {}{}", request, reason,
                                    planner.name,
                                    options.empty() ? " alone" : " and any of " + options));
}

/// Reads "KEY=VALUE", or the value of a degree, which needs no key.
void parse_option(std::string_view request, std::string_view text, const Planner& planner,
                  PlannerOptions& options) {
  const auto equals = text.find('=');
  const bool has_key = equals != std::string_view::npos;
  const std::string_view key = has_key ? text.substr(0, equals) : kDegree.key;
  const std::string_view number = has_key ? text.substr(equals + 1) : text;
  const auto option = std::ranges::find(planner.options, key, &PlannerOption::key);
  if (option == planner.options.end()) {
    refuse(request, planner, fmt::format("{} takes no {}", planner.name, key));
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool read = error == std::errc() && end == number.data() + number.size();
  if (!read || !(value >= option->least && value <= option->most) ||
      (option->whole && value != std::floor(value))) {
    refuse(request, planner, fmt::format("{}: \"{}\" is not {}", key, number, range_text(*option)));
  }
  if (!options.asked.emplace(option->key, value).second) {
    refuse(request, planner, fmt::format("{} stands there twice", key));
  }
}

}  // namespace

PlannerRequest parse_planner(std::string_view text) {
  auto colon = text.find(':');
  PlannerRequest request;
  request.planner = &planner_named(text.substr(0, colon));
  std::string_view rest = text;
  while (colon != std::string_view::npos) {
    rest.remove_prefix(colon + 1);
    colon = rest.find(':');
    parse_option(text, rest.substr(0, colon), *request.planner, request.options);
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

std::string to_text(const PlannerRequest& request) {
  std::string text(request.planner->name);
  for (const auto& [key, value] : request.options.asked) {
    text += fmt::format(":{}={:.15g}", key, value);
  }
  return text;
}

std::string options_text(const Planner& planner) {
  std::string text;
  for (const PlannerOption& option : planner.options) {
    text += (text.empty() ? "" : ", ") + range_of(option);
  }
  return text;
}

std::string measuring_planners() {
  std::string text;
  for (const Planner& planner : planners()) {
    if (planner.measures) text += (text.empty() ? "" : ", ") + std::string(planner.name);
  }
  return text;
}

}  // namespace tuner
