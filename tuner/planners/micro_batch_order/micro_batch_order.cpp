#include "tuner/planners/micro_batch_order/micro_batch_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "tuner/planners/micro_batch_order/pass_seconds.h"
#include "tuner/planners/micro_batch_order/stage_cuts.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// Rows that go on beside computation, forward and back beside each other, so that neither waits
/// behind the other.
std::vector<moe::StreamAssignment> passing_both_ways() {
  const std::string kind(moe::PassOn::facts.name);
  return {{kind, moe::Stream::inter_node, moe::Phase::forward},
          {kind, moe::Stream::intra_node, moe::Phase::backward}};
}

/// The order, with blocks in stages as they are or as `placing` says.
Candidate through_stages(const moe::Program& program, std::string planner,
                         moe::MicroBatchOrder order, const moe::PlaceBlocks& placing) {
  moe::Schedule schedule{std::move(planner), {moe::OrderMicroBatches{order}}};
  if (program.stages > 1) {
    append(schedule, passing_both_ways());
    if (placing.stages != moe::stages_of_blocks(program)) schedule.decisions.push_back(placing);
  }
  std::string parameters = stages_json(schedule);
  return {std::move(schedule), std::move(parameters)};
}

/// Candidates with chunks of equal numbers of blocks, where they divide, and of times that are as
/// equal as they can be.
std::vector<Candidate> with_cuts(const Situation& situation, const std::string& planner,
                                 moe::MicroBatchOrder order, int chunks,
                                 const BlockSeconds& seconds) {
  const moe::Program& program = situation.program;
  const int blocks = static_cast<int>(seconds.blocks.size());
  std::vector<std::vector<int>> cuts{cuts_of_stages(seconds, program.stages, chunks)};
  const std::vector<int> equal = equal_cuts(blocks, chunks);
  if (equal != cuts.front() && (chunks == program.stages || blocks % chunks == 0)) {
    cuts.insert(cuts.begin(), equal);
  }
  std::vector<Candidate> candidates;
  for (const std::vector<int>& one : cuts) {
    candidates.push_back(
        through_stages(program, planner, order, chunks_in_turn(one, program.stages)));
  }
  return candidates;
}

std::vector<Candidate> order_candidates(const Situation& situation, const std::string& planner,
                                        moe::MicroBatchOrder order) {
  const moe::Program& program = situation.program;
  if (program.micro_batches < 2) return {};
  if (program.stages < 2) return {through_stages(program, planner, order, {})};
  return with_cuts(situation, planner, order, program.stages, block_seconds(situation));
}

/// The fastest of them; nothing decided where there are none.
moe::Schedule fastest_of(const Situation& situation, std::string planner,
                         std::vector<Candidate> candidates) {
  if (candidates.empty()) return {std::move(planner), {}};
  return fastest_simulated(situation, std::move(candidates)).schedule;
}

}  // namespace

std::vector<Candidate> gpipe_candidates(const Situation& situation, const PlannerOptions&) {
  return order_candidates(situation, "gpipe", moe::MicroBatchOrder::gpipe);
}

std::vector<Candidate> one_f_one_b_candidates(const Situation& situation, const PlannerOptions&) {
  return order_candidates(situation, "one_f_one_b", moe::MicroBatchOrder::one_f_one_b);
}

moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions& options) {
  return fastest_of(situation, "gpipe", gpipe_candidates(situation, options));
}

moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions& options) {
  return fastest_of(situation, "one_f_one_b", one_f_one_b_candidates(situation, options));
}

namespace {

/// The same with an order for passes that take as long as they do in these stages.
Candidate with_predicted_times(const Situation& situation, Candidate candidate, int chunks) {
  moe::Schedule placed;
  append(placed, moe::decisions_of<moe::PlaceBlocks>(candidate.schedule));
  const PipelineSeconds seconds = pipeline_seconds(timed(situation, placed));
  for (moe::Decision& decision : candidate.schedule.decisions) {
    auto* ordering = std::get_if<moe::OrderMicroBatches>(&decision);
    if (ordering != nullptr) *ordering = with_times(*ordering, seconds, chunks);
  }
  return candidate;
}

}  // namespace

std::vector<Candidate> interleaved_candidates(const Situation& situation,
                                              const PlannerOptions& options) {
  const moe::Program& program = situation.program;
  const int stages = program.stages;
  if (stages < 2 || program.micro_batches < 2 || program.micro_batches % stages != 0) return {};
  const BlockSeconds seconds = block_seconds(situation);
  const int most = static_cast<int>(seconds.blocks.size()) / stages;
  const auto asked = asked_for(options, kStageChunks);
  if (asked && *asked > most) {
    throw moe::Refusal("interleaved",
                       fmt::format("{} chunks for each of {} stages: there are {} blocks", *asked,
                                   stages, seconds.blocks.size()),
                       fmt::format("expected at most {}", most));
  }
  std::vector<Candidate> candidates;
  for (int chunks = asked ? static_cast<int>(*asked) : 1; chunks <= most; chunks *= 2) {
    for (Candidate& one :
         with_cuts(situation, "interleaved", moe::MicroBatchOrder::interleaved_stages,
                   stages * chunks, seconds)) {
      candidates.push_back(with_predicted_times(situation, std::move(one), chunks));
    }
    if (asked) break;
  }
  return candidates;
}

moe::Schedule plan_interleaved(const Situation& situation, const PlannerOptions& options) {
  return fastest_of(situation, "interleaved", interleaved_candidates(situation, options));
}

std::string stages_json(const moe::Schedule& schedule) {
  const auto placed = moe::decisions_of<moe::PlaceBlocks>(schedule);
  if (placed.empty()) return "{}";
  std::vector<int> counts;
  const std::vector<int> chunks = moe::chunks_of_blocks(placed.front().stages);
  for (const int chunk : chunks) {
    counts.resize(static_cast<std::size_t>(chunk) + 1);
    ++counts.back();
  }
  return fmt::format(R"({{"blocks_of_chunks": "{}"}})", fmt::join(counts, "+"));
}

std::string order_remark(const Situation& situation, const PlannerOptions&,
                         const moe::Schedule& schedule) {
  if (!schedule.decisions.empty()) return "";
  return fmt::format("{}: decides nothing here: micro_batches = {}, pp = {}", schedule.planner,
                     situation.program.micro_batches, situation.program.stages);
}

double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule) {
  const auto [program, seconds] = timed(situation, schedule);
  std::vector<double> passes(static_cast<std::size_t>(program.stages)), once = passes;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    (moe::comes_once(op) ? once : passes)[op.stage] += seconds[i];
  }
  const double each = *std::max_element(passes.begin(), passes.end()) / program.micro_batches;
  const std::vector<int> chunks = moe::chunks_of_blocks(moe::stages_of_blocks(program));
  const double of_stage =
      chunks.empty() ? 1 : static_cast<double>(chunks.back() + 1) / program.stages;
  return (program.micro_batches + (program.stages - 1) / of_stage) * each +
         *std::max_element(once.begin(), once.end());
}

}  // namespace tuner
