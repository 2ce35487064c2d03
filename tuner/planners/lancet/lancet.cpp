#include "tuner/planners/lancet/lancet.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "moe/program/start_rule.h"
#include "tuner/planners/gradients/weight_gradient_places.h"
#include "tuner/planners/lancet/forward_ranges.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// "layer 1", "layers 1, 3, 5", "layers 0 to 31".
std::string these_layers(const std::vector<int>& layers) {
  if (layers.size() == 1) return fmt::format("layer {}", layers.front());
  const auto count = static_cast<int>(layers.size());
  if (count > 2 && layers.back() - layers.front() == count - 1) {
    return fmt::format("layers {} to {}", layers.front(), layers.back());
  }
  return fmt::format("layers {}", fmt::join(layers, ", "));
}

/// Remarks about layers; layers with the same remark are named together.
class SaidOfLayers {
 public:
  void add(const std::string& what, int layer) {
    const auto said = std::find_if(said_.begin(), said_.end(),
                                   [&](const auto& one) { return one.first == what; });
    if (said == said_.end()) {
      said_.push_back({what, {layer}});
    } else {
      said->second.push_back(layer);
    }
  }
  std::string text() const {
    std::string text;
    for (const auto& [what, layers] : said_) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", these_layers(layers), what);
    }
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::vector<int>>> said_;
};

/// n parts are as small as n chunks, and the costs of smaller ones are not known.
int most_parts_of(const PlannerOptions& options) {
  return whole_value_of(options, kMostParts, std::max(2, options.most_chunks));
}

moe::Schedule streams_alone(const Situation& situation) {
  return pipeline_schedule(situation.program, "lancet", {1, 1});
}

}  // namespace

moe::Schedule lancet_schedule(const Situation& situation, LancetPasses passes, int most_parts) {
  const auto with_ranges = [&]() -> std::vector<Candidate> {
    moe::Schedule cut = streams_alone(situation);
    append(cut, forward_ranges(situation, cut, most_parts).cuts);
    return {{std::move(cut)}};
  };
  const std::string key = fmt::format("lancet ranges {}", most_parts);
  moe::Schedule schedule = passes.ranges ? remembered(situation, key, with_ranges).front().schedule
                                         : streams_alone(situation);
  if (passes.weight_gradients) {
    append(schedule, weight_gradient_places(situation, schedule));
  }
  return schedule;
}

moe::Schedule plan_lancet(const Situation& situation, const PlannerOptions& options) {
  return lancet_schedule(situation, {}, most_parts_of(options));
}

double lancet_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, seconds] = timed(situation, schedule);
  const std::vector<std::vector<int>> waits = moe::waits_for(program);
  std::vector<double> end_s(program.ops.size(), 0);
  double computed_s = 0, communicated_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    double& last_s = program.ops[i].stream == moe::Stream::compute ? computed_s : communicated_s;
    double start_s = last_s;
    for (const int earlier : waits[i]) {
      start_s = std::max(start_s, end_s[earlier]);
    }
    end_s[i] = last_s = start_s + seconds[i];
  }
  return std::max(computed_s, communicated_s);
}

std::vector<Candidate> lancet_candidates(const Situation& situation,
                                         const PlannerOptions& options) {
  std::vector<Candidate> candidates;
  for (const LancetPasses passes :
       {LancetPasses{true, true}, LancetPasses{true, false}, LancetPasses{false, true}}) {
    candidates.push_back({lancet_schedule(situation, passes, most_parts_of(options)),
                          fmt::format(R"({{"ranges": {}, "weight_gradients": {}}})", passes.ranges,
                                      passes.weight_gradients)});
  }
  return candidates;
}

std::string lancet_remark(const Situation& situation, const PlannerOptions& options,
                          const moe::Schedule& schedule) {
  SaidOfLayers cut;
  for (const auto& range : moe::decisions_of<moe::PartitionRange>(schedule)) {
    cut.add(fmt::format("in {} parts with {} ops before and {} after", range.parts,
                        range.ops_before, range.ops_after),
            range.layer);
  }
  for (const auto& split : moe::decisions_of<moe::PipelineSplit>(schedule)) {
    cut.add(fmt::format("in {} chunks along capacity", split.chunks), split.layer);
  }
  const std::string ranges = cut.text();
  std::string text = fmt::format("lancet: {}; {} weight gradients after exchanges",
                                 ranges.empty() ? "no range of forward is cut" : ranges,
                                 moe::decisions_of<moe::PlaceWeightGradient>(schedule).size());
  const ForwardRanges left_out =
      forward_ranges(situation, streams_alone(situation), most_parts_of(options));
  SaidOfLayers obstacles;
  for (const auto& [layer, why] : left_out.obstacles) obstacles.add(why, layer);
  if (const std::string said = obstacles.text(); !said.empty()) text += "; " + said;
  for (const std::string& why : left_out.refused) text += "; " + why;
  return text;
}

}  // namespace tuner
