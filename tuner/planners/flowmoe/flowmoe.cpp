#include "tuner/planners/flowmoe/flowmoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "moe/errors.h"
#include "moe/program/start_rule.h"
#include "tuner/planners/gradients/placed_gradients.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The sizes of slices between which the paper searches.
constexpr double kMostSliceKib = 16384, kLeastSliceKib = 128;

moe::Schedule in_groups_of(const moe::Program& program, int together) {
  moe::Schedule schedule = pipeline_with_gradients(program, "flowmoe", {1, 1});
  schedule.decisions.push_back(
      moe::OrderMicroBatches{.order = moe::MicroBatchOrder::in_groups, .group_size = together});
  return schedule;
}

/// Measures how long the stream of exchanges is idle after each place: until the next exchange could
/// begin, or another place comes. An op begins when those that it waits for and the one before it in
/// its stream have ended [Lancet 5.3].
void measure_idle(std::vector<GradientPlace>& places, const moe::Program& program,
                  const std::vector<double>& seconds) {
  const std::vector<std::vector<int>> waits = moe::waits_for(program);
  std::vector<double> end_s(program.ops.size(), 0);
  std::array<double, moe::kStreamCount> stream_s{};
  std::size_t open = 0, next = 0;  // of places: since the last exchange, and the next one
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    double& idle_from_s = stream_s[static_cast<std::size_t>(op.stream)];
    double ready_s = 0;
    for (const int earlier : waits[i]) {
      ready_s = std::max(ready_s, end_s[static_cast<std::size_t>(earlier)]);
    }
    if (op.stream == moe::Stream::inter_node) {
      double until_s = ready_s;
      for (std::size_t place = next; place-- > open;) {
        const double from_s = std::max(idle_from_s, end_s[places[place].op]);
        places[place].idle_s = std::max(until_s - from_s, 0.0);
        until_s = std::min(until_s, from_s);
      }
      open = next;
    }
    end_s[i] = idle_from_s = std::max(ready_s, idle_from_s) + seconds[i];
    while (next < places.size() && places[next].op == i) ++next;
  }
}

moe::Schedule with_slices(const Situation& situation, const moe::Schedule& groups,
                          double slice_kib) {
  UnplacedGradients gradients = unplaced_gradients(situation, groups, 1024 * slice_kib);
  const std::vector<double> seconds =
      alone_seconds(situation, costs_of(situation, gradients.scheduled));
  for (StageGradients& stage : gradients.stages) {
    measure_idle(stage.places, gradients.scheduled, seconds);
  }
  return with_sliced_gradients(gradients);
}

/// With slices of the size that was asked for; else of the size with which it is fastest, if it is
/// faster so.
moe::Schedule with_best_slices(const Situation& situation, moe::Schedule groups,
                               const PlannerOptions& options) {
  if (const auto asked = asked_for(options, kSliceKib)) {
    return with_slices(situation, groups, *asked);
  }
  double best_s = simulated_s(situation, groups),
         before_s = std::numeric_limits<double>::infinity();
  moe::Schedule best = groups;
  for (double kib = kMostSliceKib; kib >= kLeastSliceKib; kib /= 2) {
    try {
      moe::Schedule sliced = with_slices(situation, groups, kib);
      const double seconds = simulated_s(situation, sliced);
      if (seconds > before_s) break;
      before_s = seconds;
      if (seconds >= best_s) continue;
      best_s = seconds;
      best = std::move(sliced);
    } catch (const moe::Refusal&) {  // more slices than a Program may have ops
      break;
    }
  }
  return best;
}

/// The numbers of micro-batches together that are tried.
std::vector<int> degrees_together(const moe::Program& program, const PlannerOptions& options) {
  const int all = program.micro_batches;
  if (const auto asked = asked_for(options, kTogether)) {
    if (*asked > all) {
      throw moe::Refusal("flowmoe", fmt::format("{} of {} micro-batches together", *asked, all),
                         fmt::format("expected at most {}", all));
    }
    return {static_cast<int>(*asked)};
  }
  std::vector<int> degrees;
  for (int together = 2; together < all; together *= 2) degrees.push_back(together);
  degrees.push_back(all);
  return degrees;
}

/// The micro-batches of a group in a schedule of the planner; 0 where it decides nothing.
int micro_batches_together(const moe::Schedule& schedule) {
  for (const auto& ordering : moe::decisions_of<moe::OrderMicroBatches>(schedule)) {
    if (ordering.order == moe::MicroBatchOrder::in_groups) return ordering.group_size;
  }
  return 0;
}

}  // namespace

std::vector<Candidate> flowmoe_candidates(const Situation& situation,
                                          const PlannerOptions& options) {
  const moe::Program& program = situation.program;
  std::vector<Candidate> candidates;
  if (program.micro_batches < 2 || program.stages > 1) return candidates;
  for (const int together : degrees_together(program, options)) {
    candidates.push_back({with_best_slices(situation, in_groups_of(program, together), options)});
  }
  return candidates;
}

moe::Schedule plan_flowmoe(const Situation& situation, const PlannerOptions& options) {
  std::vector<Candidate> candidates = flowmoe_candidates(situation, options);
  if (candidates.empty()) return {"flowmoe", {}};
  return fastest_simulated(situation, std::move(candidates)).schedule;
}

std::string flowmoe_parameters(const moe::Schedule& schedule) {
  const int together = micro_batches_together(schedule);
  if (together == 0) return "{}";
  int slices = 0;
  for (const auto& slicing : moe::decisions_of<moe::SliceAllReduce>(schedule)) {
    slices += slicing.slices;
  }
  return fmt::format(R"({{"together": {}, "gradient_slices": {}}})", together, slices);
}

double pass_in_parts_s(const PassInParts& pass) {
  return std::max(
      {pass.computing_s, pass.first_s + pass.exchanging_s + pass.last_s, pass.longest_s});
}

double flowmoe_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, seconds] = timed(situation, schedule);
  const int together = std::max(micro_batches_together(schedule), 1);
  std::map<std::pair<int, moe::Phase>, PassInParts> passes;  // [group, phase]
  struct Part {
    double all_s = 0, since_exchange_s = 0;
    bool exchanged = false;
  };
  std::map<std::pair<int, moe::Phase>, Part> parts;  // [micro-batch, phase]
  double once_s = 0, reduced_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::reduces_gradients(op) && op.stream == moe::Stream::inter_node) {
      reduced_s += seconds[i];
      continue;
    }
    if (moe::comes_once(op)) {
      once_s += seconds[i];
      continue;
    }
    PassInParts& pass = passes[{op.micro_batch / together, op.phase}];
    Part& part = parts[{op.micro_batch, op.phase}];
    part.all_s += seconds[i];
    if (op.stream == moe::Stream::inter_node) {
      if (!part.exchanged && op.micro_batch % together == 0) pass.first_s = part.since_exchange_s;
      pass.exchanging_s += seconds[i];
      part.exchanged = true;
      part.since_exchange_s = 0;
    } else {
      pass.computing_s += seconds[i];
      part.since_exchange_s += seconds[i];
    }
  }
  for (const auto& [of, part] : parts) {
    PassInParts& pass = passes[{of.first / together, of.second}];
    if (part.exchanged) pass.last_s = part.since_exchange_s;  // the last part comes last
    pass.longest_s = std::max(pass.longest_s, part.all_s);
  }
  double passed_s = 0, idle_s = 0;
  for (const auto& [of, pass] : passes) {
    const double pass_s = pass_in_parts_s(pass);
    passed_s += pass_s;
    if (of.second == moe::Phase::backward) idle_s = pass_s - pass.exchanging_s;
  }
  return passed_s + std::max(reduced_s - idle_s, 0.0) + once_s;
}

}  // namespace tuner
