#include "tuner/planners/fsmoe/fsmoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tuner {
namespace {

const char* name_of(InNode in_node) { return in_node == InNode::beside ? "fsmoe" : "fsmoe_no_iio"; }

}  // namespace

std::vector<Candidate> fsmoe_candidates(const Situation& situation, const PlannerOptions& options,
                                        InNode in_node) {
  const int most = most_chunks(options);
  const moe::Program& program = situation.program;
  const char* name = name_of(in_node);
  std::vector<Candidate> candidates;
  const auto add = [&](const char* by, moe::Schedule schedule) {
    // With the degrees, which a refinement of the costs may change.
    const std::string parameters =
        join_parameters(fmt::format(R"({{"by": "{}"}})", by), degrees_json(schedule));
    candidates.push_back({std::move(schedule), parameters});
  };
  const auto by_simulation = [&](const char* by, const ScheduleOfDegrees& way) {
    add(by, with_best_degrees(situation, most, way));
  };
  std::map<std::pair<int, int>, UnplacedGradients> known;  // three ways begin with the same
  const auto unplaced = [&](Degrees degrees) -> const UnplacedGradients& {
    const std::pair key(degrees.forward, degrees.backward);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known
        .emplace(key, unplaced_gradients(situation,
                                         pipeline_with_gradients(program, name, degrees, in_node)))
        .first->second;
  };
  by_simulation("simulation", [&](Degrees degrees) {
    return with_gradients_filled(unplaced(degrees), Fill::all_of_backward);
  });
  by_simulation("simulation, gradients beside dense parts", [&](Degrees degrees) {
    return with_gradients_filled(unplaced(degrees), Fill::dense_parts);
  });
  // What Tutel-Improved and PipeMoE would do with these streams: every slice of gradients costs the
  // start of an all-reduce.
  by_simulation("simulation, gradients of blocks whole",
                [&](Degrees degrees) { return with_whole_gradients(unplaced(degrees)); });
  by_simulation("simulation, gradients after backward", [&](Degrees degrees) {
    return pipeline_schedule(program, name, degrees, in_node);
  });
  add("equations", fsmoe_schedule_by_equations(situation, most, in_node));
  return candidates;
}

std::map<PipelineOf, MoePhase> moe_phases(const Situation& situation, InNode in_node) {
  const auto chunks = [&](int count) {
    return pipeline_times(situation,
                          pipeline_schedule(situation.program, "", {count, count}, in_node));
  };
  const auto whole = chunks(1), halves = chunks(2);
  // alpha + n beta and alpha + n / 2 beta.
  const auto task = [](double of_whole, double of_half) {
    const double volume_s = std::clamp(2 * (of_whole - of_half), 0.0, of_whole);
    return PipelineTask{of_whole - volume_s, volume_s};
  };
  std::map<PipelineOf, MoePhase> phases;
  for (const auto& [where, one] : whole) {
    const ChunkTimes &a = one.chunk, &b = halves.at(where).chunk;
    phases[where] = {task(a.a2a, b.a2a), task(a.ag, b.ag), task(a.rs, b.rs), task(a.exp, b.exp), 0};
  }
  return phases;
}

ChosenDegree degree_by_equations(const MoePhase& phase, int most) {
  return best_degree(most, [&](int r) { return moe_phase_s(r, phase); });
}

moe::Schedule fsmoe_schedule_by_equations(const Situation& situation, int most_chunks,
                                          InNode in_node) {
  const moe::Program& program = situation.program;
  const auto phases = moe_phases(situation, in_node);
  const auto best = [&](int layer, moe::Phase which, double gar_s) {
    MoePhase phase = phases.at(last_of(program, layer, which));
    phase.gar_s = gar_s;
    return degree_by_equations(phase, most_chunks);
  };
  const auto cut = [&](moe::Schedule& schedule, int layer, moe::Phase which, double gar_s) {
    if (const int chunks = best(layer, which, gar_s).chunks; chunks > 1) {
      schedule.decisions.push_back(moe::PipelineSplit{layer, which, chunks});
    }
  };
  moe::Schedule pipeline = pipeline_with_gradients(program, name_of(in_node), {1, 1}, in_node);
  for (const int layer : moe_layers(program)) {
    for (const auto which : {moe::Phase::forward, moe::Phase::backward}) {
      cut(pipeline, layer, which, 0);
    }
  }
  moe::Schedule schedule = with_gradients_shared(
      unplaced_gradients(situation, std::move(pipeline)), Fill::all_of_backward,
      [&](int layer, double gar_s) { return best(layer, moe::Phase::backward, gar_s).seconds; });
  const auto times = pipeline_times(situation, schedule);
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    const auto* split = std::get_if<moe::PipelineSplit>(&decision);
    return split && split->phase == moe::Phase::backward;
  });
  for (const int layer : moe_layers(program)) {
    cut(schedule, layer, moe::Phase::backward,
        times.at(last_of(program, layer, moe::Phase::backward)).gar_s);
  }
  return schedule;
}

std::string fsmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule) {
  const InNode in_node =
      schedule.planner == name_of(InNode::beside) ? InNode::beside : InNode::with_the_rest;
  const Degrees own = degrees_of(schedule), paper = degrees_of(fsmoe_schedule_by_equations(
                                                situation, most_chunks(options), in_node));
  return fmt::format(
      "{}: {} chunks forward, {} backward in the first MoE layer by simulation; {} and {} by the "
      "paper's algorithms",
      schedule.planner, own.forward, own.backward, paper.forward, paper.backward);
}

}  // namespace tuner
