#include "moe/passes/place_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/program/pass_between_stages.h"

namespace moe {
namespace {

[[noreturn]] void refuse_stages(std::string_view why, std::string way_out) {
  throw Refusal("place_blocks", why, std::move(way_out));
}

void check_stages(const Program& program, const std::vector<int>& stages) {
  const int count = program.stages;
  const std::size_t blocks = stages_of_blocks(program).size();
  if (count < 2) {
    refuse_stages("there is one pipeline stage", "expected a layout with pp of at least 2");
  }
  if (stages.size() != blocks) {
    refuse_stages(fmt::format("{} stages for {} blocks", stages.size(), blocks),
                  "expected one for every block");
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    if (stages[block] < 0 || stages[block] >= count) {
      refuse_stages(fmt::format("block {} in stage {}", block, stages[block]),
                    fmt::format("expected stages from 0 to {}", count - 1));
    }
    if (block == 0 || stages[block] == stages[block - 1]) continue;
    if (!boundary_between(program.groups, stages[block - 1], stages[block])) {
      refuse_stages(fmt::format("stage {} cannot pass rows on to stage {} (block {})",
                                stages[block - 1], stages[block], block),
                    "expected a neighbour, or the first stage after the last");
    }
  }
  for (int stage = 0; stage < count; ++stage) {
    if (std::ranges::find(stages, stage) == stages.end()) {
      refuse_stages(fmt::format("stage {} has no block", stage), "expected one at least");
    }
  }
  const bool is_tied = std::ranges::any_of(
      program.ops, [](const Op& op) { return std::holds_alternative<ReduceTied>(op.kind); });
  const bool goes_back = stages.back() == 0 && !is_tied;
  if (stages.front() != 0 || (stages.back() != count - 1 && !goes_back)) {
    refuse_stages(fmt::format("the first block is in stage {}, the last in stage {}",
                              stages.front(), stages.back()),
                  fmt::format("expected stages 0 and {}, which have the embedding and the head{}",
                              count - 1, is_tied ? " (it is tied, and stays)" : ", or 0 for both"));
  }
}

/// Puts the head into a stage: its ops, which come behind those of the blocks in forward and before
/// them in backward, and the parameters that they read.
void place_head(Program& program, int stage) {
  std::set<std::pair<int, Phase>> came_to_blocks;  // of micro-batches
  std::set<TensorId> read;
  for (Op& op : program.ops) {
    if (op.phase == Phase::update || comes_once(op)) continue;
    if (op.layer >= 0) came_to_blocks.emplace(op.micro_batch, op.phase);
    const bool behind = came_to_blocks.contains({op.micro_batch, op.phase});
    if (op.layer >= 0 || behind != (op.phase == Phase::forward)) continue;
    op.stage = stage;
    for (const Use& use : op.reads) read.insert(use.tensor);
  }
  for (Parameter& parameter : program.parameters) {
    if (parameter.layer < 0 && read.contains(parameter.value)) parameter.stage = stage;
  }
}

/// What outside the blocks belongs to a stage: the tensors of parameters, and the factors that clip
/// gradients.
class StagesOfTensors {
 public:
  explicit StagesOfTensors(const Program& program) : of_(program.tensors.size(), -1) {
    for (const Parameter& parameter : program.parameters) {
      for (const TensorId tensor : {parameter.value, parameter.gradient}) {
        at(tensor) = parameter.stage;
      }
      for (const TensorId state : parameter.optimizer_state) at(state) = parameter.stage;
    }
    for (const Op& op : program.ops) {
      if (!std::holds_alternative<ClipFactor>(op.kind)) continue;
      factors_[op.stage] = op.writes.at(1).tensor;
      is_factor_[op.writes.at(1).tensor] = true;
    }
  }
  /// The stage of an op that updates one parameter, or adds up squares of gradients; none for
  /// others.
  int of(const Op& op) const {
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) {
        if (const int stage = of_[static_cast<std::size_t>(use.tensor)]; stage >= 0) return stage;
      }
    }
    return -1;
  }
  void read_factor_of(Op& op) const {
    for (Use& use : op.reads) {
      if (is_factor_.contains(use.tensor)) use.tensor = factors_.at(op.stage);
    }
  }

 private:
  int& at(TensorId tensor) { return of_[static_cast<std::size_t>(tensor)]; }

  std::vector<int> of_;              ///< [tensor]; -1: no stage
  std::map<int, TensorId> factors_;  ///< by stage
  std::map<TensorId, bool> is_factor_;
};

/// Every stage adds up the squares of its own gradients, in the order in which it would without the
/// decision.
void add_squares_by_stage(Program& program) {
  const auto adds = [](const Op& op) { return std::holds_alternative<AddSquares>(op.kind); };
  const auto is_of_squares = [&](const Op& op) {
    return adds(op) || std::holds_alternative<SumSquares>(op.kind);
  };
  const auto begin = std::ranges::find_if(program.ops, is_of_squares);
  const auto end = std::find_if_not(begin, program.ops.end(), is_of_squares);
  const auto place = [&](const Op& op) { return std::tuple(op.stage, adds(op), -op.layer); };
  std::stable_sort(begin, end, [&](const Op& a, const Op& b) { return place(a) < place(b); });
  std::vector<Use> sums;
  for (auto op = begin; op != end; ++op) {
    if (adds(*op)) {
      op->reads = std::exchange(sums, {});
    } else {
      sums.push_back(op->writes.at(0));
    }
  }
}

}  // namespace

std::vector<int> stages_of_blocks(const Program& program) {
  std::vector<int> stages;
  for (const Op& op : program.ops) {
    if (op.layer < 0 || std::holds_alternative<PassOn>(op.kind)) continue;
    const auto block = static_cast<std::size_t>(op.layer);
    if (block >= stages.size()) stages.resize(block + 1, -1);
    stages[block] = op.stage;
  }
  return stages;
}

std::vector<int> chunks_of_blocks(const std::vector<int>& stages) {
  std::vector<int> chunks;
  for (std::size_t block = 0; block < stages.size(); ++block) {
    const bool begins = block > 0 && stages[block] != stages[block - 1];
    chunks.push_back(block == 0 ? 0 : chunks.back() + (begins ? 1 : 0));
  }
  return chunks;
}

Program apply(Program program, const PlaceBlocks& placing) {
  check_stages(program, placing.stages);
  const auto stage_of_layer = [&](int layer) {
    return placing.stages[static_cast<std::size_t>(layer)];
  };
  without_passing(program);
  for (Parameter& parameter : program.parameters) {
    if (parameter.layer >= 0) parameter.stage = stage_of_layer(parameter.layer);
  }
  place_head(program, placing.stages.back());
  const StagesOfTensors tensors(program);
  for (Op& op : program.ops) {
    if (op.layer >= 0) {
      op.stage = stage_of_layer(op.layer);
    } else if ((op.phase == Phase::update || comes_once(op)) &&
               !std::holds_alternative<ReduceTied>(op.kind)) {
      if (const int stage = tensors.of(op); stage >= 0) op.stage = stage;
      tensors.read_factor_of(op);
    }
  }
  add_squares_by_stage(program);
  pass_between_stages(program);
  return program;
}

std::string subject(const PlaceBlocks&) { return ""; }

void write(nlohmann::json& object, const PlaceBlocks& placing) {
  object["stages"] = placing.stages;
}

PlaceBlocks PlaceBlocks::read(const InputObject& input) {
  PlaceBlocks placing;
  for (const std::int64_t stage : input.member("stages", "a list of stages, one for every block")
                                      .integers(0, std::numeric_limits<int>::max())) {
    placing.stages.push_back(static_cast<int>(stage));
  }
  return placing;
}

}  // namespace moe
