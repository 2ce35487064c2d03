#include "tuner/planners/fsmoe/fsmoe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "tuner/planners/gradients/whole_gradients.h"
#include "tuner/planners/pipeline/best_degrees.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

const char* name_of(InNode in_node) { return in_node == InNode::beside ? "fsmoe" : "fsmoe_no_iio"; }

std::vector<Candidate> ways_to_plan(const Situation& situation, const PlannerOptions& options,
                                    InNode in_node) {
  const int most = most_chunks(options);
  const moe::Program& program = situation.program;
  const char* name = name_of(in_node);
  std::vector<Candidate> candidates;
  const auto add = [&](const char* by, moe::Schedule schedule) {
    candidates.push_back({name, fmt::format(R"({{"by": "{}"}})", by), std::move(schedule)});
  };
  const auto by_simulation = [&](const char* by, const auto& schedule_of) {
    add(by, schedule_of(best_degrees_by_simulation(situation, most, schedule_of)));
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

moe::Schedule best_way(const Situation& situation, const PlannerOptions& options, InNode in_node) {
  std::vector<Candidate> ways =
      remembered(situation, memory_key(name_of(in_node), options, true),
                 [&] { return ways_to_plan(situation, options, in_node); });
  return fastest_simulated(situation, std::move(ways)).schedule;
}

/// Algorithm 1 for every layer of a model.
struct AlgorithmOne {
  const moe::Program& program;
  std::map<PipelineOf, MoePhase> phases;
  int most_chunks;

  MoePhase phase(int layer, moe::Phase which, double gar_s) const {
    MoePhase one = phases.at(last_of(program, layer, which));
    one.gar_s = gar_s;
    return one;
  }
  int chunks(int layer, moe::Phase which, double gar_s) const {
    return degree_by_slsqp(phase(layer, which, gar_s), most_chunks).chunks;
  }
  /// f_moe of step 2. As it is called many times, it finds the same optimum by trying all degrees.
  PhaseSeconds backward_seconds() const {
    return [this](int layer, double gar_s) {
      return degree_by_equations(phase(layer, moe::Phase::backward, gar_s), most_chunks).seconds;
    };
  }
  /// The pipeline with the degrees that Algorithm 1 finds without gradients.
  moe::Schedule pipeline(InNode in_node) const {
    moe::Schedule schedule = pipeline_with_gradients(program, name_of(in_node), {1, 1}, in_node);
    for (const int layer : moe_layers(program)) {
      for (const moe::Phase which : {moe::Phase::forward, moe::Phase::backward}) {
        if (const int count = chunks(layer, which, 0); count > 1) {
          schedule.decisions.push_back(moe::PipelineSplit{layer, which, count});
        }
      }
    }
    return schedule;
  }
};

AlgorithmOne algorithm_one(const Situation& situation, int most_chunks, InNode in_node) {
  return {situation.program, moe_phases(situation, in_node), most_chunks};
}

/// The times of step 2 by the dynamic program and by evolution, summed over all stages.
std::pair<double, double> second_step_s(const Situation& situation, const AlgorithmOne& algorithm,
                                        InNode in_node) {
  constexpr int evaluations = 4000;
  std::pair<double, double> seconds;
  const moe::Program scheduled = moe::apply(situation.program, algorithm.pipeline(in_node));
  for (const StageGradients& stage : gradients_by_stage(situation, scheduled)) {
    const GradientRest rest =
        rest_of_stage(stage, Fill::all_of_backward, algorithm.backward_seconds());
    seconds.first += share_exactly(rest, kGradientQuanta).seconds;
    seconds.second += share_by_evolution(rest, evaluations, 1).seconds;
  }
  return seconds;
}

}  // namespace

moe::Schedule fsmoe_schedule(const Situation& situation, Degrees degrees, InNode in_node,
                             Fill fill) {
  return with_gradients_filled(
      unplaced_gradients(situation, pipeline_with_gradients(situation.program, name_of(in_node),
                                                            degrees, in_node)),
      fill);
}

std::map<PipelineOf, MoePhase> moe_phases(const Situation& situation, InNode in_node) {
  const auto chunks = [&](int count) {
    const moe::Schedule cut = pipeline_schedule(situation.program, "", {count, count}, in_node);
    return pipeline_times(situation, moe::apply(situation.program, cut));
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

moe::Schedule fsmoe_schedule_by_equations(const Situation& situation, int most_chunks,
                                          InNode in_node) {
  const moe::Program& program = situation.program;
  const AlgorithmOne algorithm = algorithm_one(situation, most_chunks, in_node);
  moe::Schedule schedule =
      with_gradients_shared(unplaced_gradients(situation, algorithm.pipeline(in_node)),
                            Fill::all_of_backward, algorithm.backward_seconds());
  const auto times = pipeline_times(situation, moe::apply(program, schedule));
  std::erase_if(schedule.decisions, [](const moe::Decision& decision) {
    const auto* split = std::get_if<moe::PipelineSplit>(&decision);
    return split && split->phase == moe::Phase::backward;
  });
  for (const int layer : moe_layers(program)) {
    const double gar_s = times.at(last_of(program, layer, moe::Phase::backward)).gar_s;
    if (const int chunks = algorithm.chunks(layer, moe::Phase::backward, gar_s); chunks > 1) {
      schedule.decisions.push_back(moe::PipelineSplit{layer, moe::Phase::backward, chunks});
    }
  }
  return schedule;
}

moe::Schedule plan_fsmoe(const Situation& situation, const PlannerOptions& options) {
  return best_way(situation, options, InNode::beside);
}

moe::Schedule plan_fsmoe_no_iio(const Situation& situation, const PlannerOptions& options) {
  return best_way(situation, options, InNode::with_the_rest);
}

std::string fsmoe_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule) {
  const InNode in_node =
      schedule.planner == name_of(InNode::beside) ? InNode::beside : InNode::with_the_rest;
  const AlgorithmOne algorithm = algorithm_one(situation, most_chunks(options), in_node);
  const Degrees own = degrees_of(schedule), paper = degrees_of(fsmoe_schedule_by_equations(
                                                situation, most_chunks(options), in_node));
  const auto [exact_s, evolved_s] = second_step_s(situation, algorithm, in_node);
  return fmt::format(
      "{}: {} chunks forward, {} backward in the first MoE layer by simulation; {} and {} by the "
      "paper's algorithms, whose step 2 comes to {:.4g} s exactly and {:.4g} s by evolution",
      schedule.planner, own.forward, own.backward, paper.forward, paper.backward, exact_s,
      evolved_s);
}

std::vector<Candidate> fsmoe_candidates(const Situation& situation, const PlannerOptions& options) {
  return ways_to_plan(situation, options, InNode::beside);
}

std::vector<Candidate> fsmoe_no_iio_candidates(const Situation& situation,
                                               const PlannerOptions& options) {
  return ways_to_plan(situation, options, InNode::with_the_rest);
}

}  // namespace tuner
