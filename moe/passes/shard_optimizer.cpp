#include "moe/passes/shard_optimizer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/way_out.h"
#include "moe/program/shareable_state.h"
#include "moe/rows/element_share.h"

namespace moe {
namespace {

/// The name of a collective of these groups: "reduce_scatter experts".
std::string collective_name(std::string_view what, GroupKind group) {
  switch (group) {
    case GroupKind::stage:
      return std::string(what);
    case GroupKind::data:
      return std::string(what) + " shared";
    case GroupKind::expert_data:
      return std::string(what) + " experts";
    default:
      throw std::logic_error("shard_optimizer: nothing is copied there");
  }
}

/// The parameters that are shared out, by their gradient or by their value.
class SharedParameters {
 public:
  explicit SharedParameters(Program& program) {
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      Parameter& parameter = program.parameters[i];
      if (!may_share_state(program, parameter)) continue;
      const int ranks = group_size(program.groups, parameter.replicas);
      parameter.shares_state = true;
      const Tensor& value = program.tensors[parameter.value];
      const std::int64_t share = largest_share(value.rows * value.columns, ranks);
      for (const TensorId state : parameter.optimizer_state) {
        program.tensors[state].rows = share;
        program.tensors[state].columns = 1;
      }
      of_[parameter.value] = of_[parameter.gradient] = i;
    }
  }

  bool empty() const { return of_.empty(); }
  /// The parameter of a value or a gradient; nullptr for other tensors, and where it is not shared.
  const Parameter* of(const Program& program, TensorId tensor) const {
    const auto found = of_.find(tensor);
    return found == of_.end() ? nullptr : &program.parameters[found->second];
  }

 private:
  std::map<TensorId, std::size_t> of_;
};

bool updates(const Op& op) {
  return std::holds_alternative<AdamStep>(op.kind) || std::holds_alternative<SgdStep>(op.kind);
}

/// The op uses the rank's share of every value and gradient that is shared.
void use_shares(const Program& program, const SharedParameters& shared, Op& op) {
  for (auto* uses : {&op.reads, &op.writes}) {
    for (Use& use : *uses) {
      if (const Parameter* parameter = shared.of(program, use.tensor)) {
        use.shared_by = parameter->replicas;
      }
    }
  }
}

/// The same op for each number of ranks that share some of its gradients. An element that n ranks
/// have counts 1/n on each of them; in the share of one of them it counts whole.
std::vector<Op> squares_of_shares(Program& program, const SharedParameters& shared, const Op& op) {
  std::map<int, std::vector<Use>> reads;  // by the number of ranks
  for (Use use : op.reads) {
    const Parameter* parameter = shared.of(program, use.tensor);
    int ranks = 1;
    if (parameter != nullptr) {
      use.shared_by = parameter->replicas;
      ranks = group_size(program.groups, parameter->replicas);
    }
    reads[ranks].push_back(use);
  }
  const double weight = std::get<SumSquares>(op.kind).weight;
  std::vector<Op> ops;
  for (auto& [ranks, uses] : reads) {
    std::int64_t blocks = 0;
    for (const Use& use : uses) {
      const Tensor& tensor = program.tensors[use.tensor];
      blocks += SumSquares::blocks_of(largest_share(tensor.rows * tensor.columns, ranks));
    }
    Tensor sums = program.tensors[op.writes[0].tensor];
    sums.rows = blocks;
    TensorId written = op.writes[0].tensor;
    if (ops.empty()) {
      program.tensors[written] = sums;
    } else {
      sums.name += ".shares";
      written = static_cast<TensorId>(program.tensors.size());
      program.tensors.push_back(sums);
    }
    Op& one = ops.emplace_back(op);
    one.kind = SumSquares{weight * ranks};
    one.reads = std::move(uses);
    one.writes = {{written}};
  }
  return ops;
}

/// Lets the update phase work on shares.
void take_shares(Program& program, const SharedParameters& shared) {
  std::vector<Op> ops;
  std::map<TensorId, std::vector<Use>> further;  // sums of squares beside one that was there
  for (Op& op : program.ops) {
    if (std::holds_alternative<SumSquares>(op.kind)) {
      std::vector<Use>& beside = further[op.writes[0].tensor];
      for (Op& one : squares_of_shares(program, shared, op)) {
        if (one.writes[0].tensor != op.writes[0].tensor) beside.push_back(one.writes[0]);
        ops.push_back(std::move(one));
      }
      continue;
    }
    if (std::holds_alternative<AddSquares>(op.kind)) {
      const std::vector<Use> before = op.reads;
      for (const Use& use : before) {
        const auto found = further.find(use.tensor);
        if (found == further.end()) continue;
        op.reads.insert(op.reads.end(), found->second.begin(), found->second.end());
      }
    }
    if (updates(op) || std::holds_alternative<ReduceTied>(op.kind)) use_shares(program, shared, op);
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
}

/// The parameters whose gradients one op reduces, and the last step that updates any of them.
struct Bucket {
  Op reduction;
  std::size_t last_step = 0;
};

/// The ops that bring the updated shares of a bucket to all ranks, one for each type of numbers.
std::vector<Op> gather_ops(const Program& program, const SharedParameters& shared,
                           const Op& reduction) {
  const GroupKind group = std::get<ReduceShares>(reduction.kind).group;
  std::map<DType, std::vector<Use>> values;
  for (const Use& use : reduction.writes) {
    const TensorId value = shared.of(program, use.tensor)->value;
    values[program.tensors[value].dtype].push_back({value});
  }
  std::vector<Op> ops;
  for (auto& [dtype, uses] : values) {
    Op& op = ops.emplace_back(reduction);
    op.kind = GatherShares{group};
    op.name = collective_name("all_gather parameters", group);
    op.phase = Phase::update;
    op.reads = uses;
    op.writes = std::move(uses);
  }
  return ops;
}

/// Turns the all-reduces into reductions to shares, and puts an all-gather after the last step of
/// the parameters of each.
void share_communication(Program& program, const SharedParameters& shared) {
  std::vector<Bucket> buckets;
  std::map<TensorId, std::size_t> bucket_of;  // by value
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    if (const auto* whole = std::get_if<AllReduce>(&op.kind)) {
      const GroupKind group = whole->group;
      op.kind = ReduceShares{group};
      op.name = collective_name("reduce_scatter", group);
      for (const Use& use : op.writes) {
        bucket_of[shared.of(program, use.tensor)->value] = buckets.size();
      }
      buckets.push_back({op});
    } else if (updates(op)) {
      const auto found = bucket_of.find(op.writes[0].tensor);
      if (found != bucket_of.end()) buckets[found->second].last_step = i;
    }
  }
  std::map<std::size_t, std::vector<Op>> after;  // by the op that they follow
  for (const Bucket& bucket : buckets) {
    std::vector<Op>& ops = after[bucket.last_step];
    for (Op& op : gather_ops(program, shared, bucket.reduction)) ops.push_back(std::move(op));
  }
  std::vector<Op> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    ops.push_back(std::move(program.ops[i]));
    const auto follow = after.find(i);
    if (follow == after.end()) continue;
    std::move(follow->second.begin(), follow->second.end(), std::back_inserter(ops));
  }
  program.ops = std::move(ops);
}

}  // namespace

Program apply(Program program, const ShardOptimizer&) {
  const SharedParameters shared(program);
  if (shared.empty()) {
    throw Refusal("shard_optimizer", "no two ranks hold copies of a parameter",
                  expected_reduced_layer(program));
  }
  take_shares(program, shared);
  share_communication(program, shared);
  return program;
}

std::string subject(const ShardOptimizer&) { return {}; }

void write(nlohmann::json&, const ShardOptimizer&) {}

ShardOptimizer ShardOptimizer::read(const InputObject&) { return {}; }

}  // namespace moe
