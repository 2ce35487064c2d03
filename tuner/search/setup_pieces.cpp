#include "tuner/search/setup_pieces.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "moe/errors.h"
#include "moe/model/attention_keys.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/rows/binding.h"
#include "tuner/costs/call_buffers.h"
#include "tuner/costs/op_costs.h"
#include "tuner/machine/slowdown.h"
#include "tuner/planners/situation/within_memory.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/search/setup_bound.h"

namespace tuner {
namespace {

constexpr const char* kUniform = "uniform";
/// Of scaled bytes: those that only align tensors do not scale.
constexpr double kOfAlignment = 0.98;

/// Whether every layer has the same loads but for the places of experts.
bool layers_are_alike(const std::string& routing) {
  return routing == kUniform || routing.starts_with("zipf:") || routing.starts_with("drift:");
}

/// The number of first blocks that have one of each kind.
int blocks_of_all_kinds(const moe::Model& model) {
  std::set<BlockKind> seen;
  int needed = 1;
  for (int block = 0; block < model.blocks; ++block) {
    if (seen.insert(kind_of_block(model, block)).second) needed = block + 1;
  }
  return needed;
}

/// One micro-batch of the setup with few blocks, in two stages where there are several.
struct SmallModel {
  moe::Model model;
  moe::Layout layout;
};

SmallModel small_model(const moe::Model& model, const TrainingSetup& setup,
                       const std::string& routing) {
  SmallModel small{with_so_many_micro_batches(model, setup, 1), setup.layout};
  small.layout.pipeline = std::min(setup.layout.pipeline, 2);
  const moe::Model with_all = small.model;
  if (layers_are_alike(routing)) {
    small.model.blocks =
        std::min(model.blocks, std::max(blocks_of_all_kinds(model), small.layout.pipeline));
  }
  if (moe::layout_refusal(small.model, small.layout)) small.model = with_all;
  return small;
}

/// The seconds of an op by rank, or class of ranks, where nothing else runs; 0 in other stages.
std::vector<double> seconds_by_rank(const OpCost& cost, const moe::Op& op,
                                    const moe::Groups& groups, const Cluster& cluster) {
  std::vector<double> seconds(static_cast<std::size_t>(groups.ranks));
  if (cost.activity == moe::Activity::communication) {
    for (const GroupCall& call : cost.calls) {
      const std::vector<double> own = least_member_seconds(cost, call, cluster);
      for (std::size_t member = 0; member < call.ranks.size(); ++member) {
        seconds[static_cast<std::size_t>(call.ranks[member])] = own[member];
      }
    }
    return seconds;
  }
  for (int rank = 0; rank < groups.ranks; ++rank) {
    if (moe::runs_in(op, moe::stage_of(groups, rank))) {
      seconds[static_cast<std::size_t>(rank)] = seconds_on(cost, rank);
    }
  }
  return seconds;
}

/// The weighted mean, as the only value.
std::vector<double> mean_of(const std::vector<double>& seconds, const std::vector<int>& counts) {
  double sum = 0, ranks = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    sum += seconds[i] * counts[i];
    ranks += counts[i];
  }
  return {sum / ranks};
}

/// Finds the piece that an op or a parameter counts for.
class PiecesOfModel {
 public:
  PiecesOfModel(const moe::Model& model, SetupPieces& pieces) : model_(model), pieces_(pieces) {
    for (int block = 0; block < model.blocks; ++block) {
      block_of_.try_emplace(kind_of_block(model, block), block);
    }
  }

  /// Null for a block for whose kind another one stands.
  PieceCost* at(int block, int stage) const {
    if (block < 0) return stage == 0 ? &pieces_.first : &pieces_.last;
    const BlockKind kind = kind_of_block(model_, block);
    return block_of_.at(kind) == block ? &pieces_.blocks[kind] : nullptr;
  }

  template <class Change>
  void for_each(const Change& change) const {
    for (const auto& [kind, block] : block_of_) change(pieces_.blocks[kind]);
    change(pieces_.first);
    change(pieces_.last);
  }

 private:
  const moe::Model& model_;
  SetupPieces& pieces_;
  std::map<BlockKind, int> block_of_;
};

void add_states(const moe::Program& program, const PiecesOfModel& pieces) {
  for (const moe::Parameter& parameter : program.parameters) {
    PieceCost* const piece = pieces.at(parameter.layer, parameter.stage);
    if (piece == nullptr) continue;
    const auto add_bytes = [&](moe::TensorId tensor) {
      if (tensor < 0) return;
      piece->state_bytes +=
          moe::allocated_bytes(program.tensors[static_cast<std::size_t>(tensor)], {});
    };
    add_bytes(parameter.value);
    add_bytes(parameter.gradient);
    std::ranges::for_each(parameter.optimizer_state, add_bytes);
  }
}

/// [stage]: the rows of its last rank, which of even loads has the fewest: no more than the mean of
/// ranks under any loads.
std::vector<moe::Binding> fewest_rows(const moe::Program& program, const moe::Groups& groups,
                                      const moe::Routing& even) {
  const moe::AllRoutedRows routed(program, even);
  std::vector<moe::Binding> rows;
  for (int stage = 1; stage <= program.stages; ++stage) {
    rows.push_back(routed.bind(groups, stage * moe::stage_ranks(groups) - 1));
  }
  return rows;
}

/// What forward writes or receives and backward reads, in the piece that reads it first, with these
/// rows of the stages. It is one more way to keep of each piece.
void add_kept(const moe::Program& program, const std::vector<moe::Binding>& rows,
              const PiecesOfModel& pieces) {
  pieces.for_each([](PieceCost& piece) { piece.kept.emplace_back(); });
  std::vector<const moe::Op*> written_by(program.tensors.size());
  for (const moe::Op& op : program.ops) {
    if (op.phase == moe::Phase::forward) {
      for (const moe::Use& use : op.writes) written_by[use.tensor] = &op;
      continue;
    }
    for (const moe::Use& use : op.reads) {
      const moe::Tensor& tensor = program.tensors[use.tensor];
      const moe::Op* const writer = std::exchange(written_by[use.tensor], nullptr);
      if (writer == nullptr || tensor.role != moe::Role::activation) continue;
      const bool is_there =
          writer->stage == op.stage || std::holds_alternative<moe::PassOn>(writer->kind);
      if (tensor.pool != moe::Pool::device || !is_there) continue;
      PieceCost* const piece = pieces.at(op.layer, op.stage);
      if (piece == nullptr) continue;
      KeptActivations& kept = piece->kept.back();
      kept.bytes += moe::allocated_bytes(tensor, rows[op.stage]);
      if (tensor.rows_are != moe::Rows::fixed) {
        kept.routed_row_bytes += tensor.columns * moe::bytes_of(tensor.dtype);
      }
    }
  }
}

/// The seconds of ops of forward, by block and name; of two alike the shorter ones.
struct ForwardOp {
  std::vector<double> seconds;
  bool stays = false;
};
using ForwardOps = std::map<std::pair<int, std::string>, ForwardOp>;

/// No planner lets that go on a stream of its own.
bool gathers_or_scatters_tokens(const moe::Op& op) {
  return std::holds_alternative<moe::AllGather>(op.kind) ||
         std::holds_alternative<moe::ReduceScatter>(op.kind);
}

/// Tells the times of forward, for those of its ops that backward repeats.
ForwardOps add_costs(const moe::Program& program, const moe::Groups& groups,
                     const moe::Routing& routing, const CostedCluster& costed, bool loads_are_even,
                     const PiecesOfModel& pieces) {
  ForwardOps forward;
  const ProgramCosts costs = program_costs(program, groups, routing, costed.costs, costed.cluster,
                                           {.most_pairs = 16 * 16});
  const moe::Groups& ranks = costs.classes.groups;
  const auto in_stage = static_cast<std::size_t>(moe::stage_ranks(ranks));
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (op.stream != moe::Stream::compute || std::holds_alternative<moe::PassOn>(op.kind)) continue;
    PieceCost* const piece = pieces.at(op.layer, op.stage);
    if (piece == nullptr) continue;
    const std::vector<double> all = seconds_by_rank(costs.ops[i], op, ranks, costed.cluster);
    const auto begin = static_cast<std::size_t>(op.stage) * in_stage;
    std::vector<double> own(all.begin() + static_cast<std::ptrdiff_t>(begin),
                            all.begin() + static_cast<std::ptrdiff_t>(begin + in_stage));
    if (!loads_are_even) {
      const auto& counts = costs.classes.count;
      own = mean_of(own, {counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(in_stage)});
    }
    if (moe::comes_once(op)) {
      sum_up(piece->once_s, own);
      continue;
    }
    sum_up(piece->pass_s, own);
    const bool stays =
        costs.ops[i].activity != moe::Activity::communication || gathers_or_scatters_tokens(op);
    if (stays) sum_up(piece->staying_s, own);
    if (op.phase != moe::Phase::forward) continue;
    sum_up(piece->forward_s, own);
    const auto [same, is_new] = forward.try_emplace({op.layer, op.name}, ForwardOp{own, stays});
    std::vector<double>& least = same->second.seconds;
    std::ranges::transform(own, least, least.begin(),
                           [](double one, double other) { return std::min(one, other); });
  }
  return forward;
}

/// The times of what each way to keep repeats. `ways`: the Programs, as the pieces have them.
void add_repeated(const std::vector<moe::Program>& ways, const ForwardOps& forward,
                  const PiecesOfModel& pieces) {
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (const moe::Op& op : ways[way].ops) {
      if (op.stream != moe::Stream::compute || !moe::is_repeated(op)) continue;
      PieceCost* const piece = pieces.at(op.layer, op.stage);
      if (piece == nullptr) continue;
      const auto first = forward.find({op.layer, moe::name_of_repeated(op)});
      if (first == forward.end()) continue;
      KeptActivations& kept = piece->kept[way];
      sum_up(kept.again_s, first->second.seconds);
      if (first->second.stays) sum_up(kept.again_staying_s, first->second.seconds);
    }
  }
}

}  // namespace

BlockKind kind_of_block(const moe::Model& model, int block) {
  return {moe::has_experts(model, block), moe::attention_window(model, block),
          moe::rotary_base(model, block)};
}

SetupCosts setup_costs(const moe::Model& model, const TrainingSetup& setup,
                       const CostedCluster& costed, const std::string& routing_text, int most) {
  const SmallModel small = small_model(model, setup, routing_text);
  const moe::Groups groups = groups_of(costed.cluster, small.layout);
  const moe::Program program = moe::build_iteration(small.model, groups, 0);
  const moe::Routing routing =
      make_routing(routing_text, program, groups, static_cast<std::uint64_t>(small.model.seed));
  const bool even = routing_text == kUniform;
  const auto states_of = [&](const moe::Program& one) {
    SetupPieces pieces;
    add_states(one, PiecesOfModel(small.model, pieces));
    return pieces;
  };
  SetupCosts costs{states_of(program), {}};
  const moe::Schedule sharding{"", {moe::ShardOptimizer{}}};
  std::optional<moe::Program> sharded;
  try {
    sharded = moe::apply(program, sharding);
    costs.sharded.push_back(states_of(*sharded));
  } catch (const moe::Refusal&) {  // no two ranks hold copies
  }
  SetupPieces& lightest = sharded ? costs.sharded.front() : costs.whole;
  const std::int64_t limit = costed.cluster.memory_bytes;
  const auto states_fit = [&](const SetupPieces& pieces) {
    return limit == 0 || state_bytes(pieces, model, setup) <= limit;
  };
  std::vector<moe::Program> ways;  // to keep activations, of the lightest
  if (limit > 0 && states_fit(lightest)) {
    const auto seed = static_cast<std::uint64_t>(small.model.seed);
    const std::vector<moe::Binding> rows = fewest_rows(
        program, groups, even ? routing : make_routing(kUniform, program, groups, seed));
    for (const moe::Schedule& lighter : lighter_schedules(program, {})) {
      ways.push_back(moe::apply(program, lighter));
      add_kept(ways.back(), rows, PiecesOfModel(small.model, lightest));
    }
    if (sharded && states_fit(costs.whole)) {
      add_kept(program, rows, PiecesOfModel(small.model, costs.whole));
    }
  }
  const auto add_times = [&](const moe::Program& one, SetupPieces& pieces) {
    if (limit > 0) {
      const SetupPieces least = most <= setup.micro_batches
                                    ? pieces
                                    : in_micro_batches(pieces, setup.micro_batches, most,
                                                       static_cast<int>(model.experts));
      if (least_bytes(least, model, setup, Passes::one_after_other) > limit) return;
    }
    const PiecesOfModel of_model(small.model, pieces);
    const ForwardOps forward = add_costs(one, groups, routing, costed, even, of_model);
    if (&pieces == &lightest) add_repeated(ways, forward, of_model);
  };
  add_times(program, costs.whole);
  if (sharded) add_times(*sharded, costs.sharded.front());
  return costs;
}

bool larger_is_no_slower(const CostModel& costs) {
  return std::ranges::all_of(costs.fits, [](const auto& one) {
    const LinearFit& fit = one.second;
    if (fit.points.empty()) return fit.alpha_s >= 0;
    const auto slower = [](const SizeTime& smaller, const SizeTime& larger) {
      return larger.seconds * smaller.units > smaller.seconds * larger.units;
    };
    return std::ranges::adjacent_find(fit.points, slower) == fit.points.end();
  });
}

SetupPieces in_micro_batches(SetupPieces pieces, int from, int to, int experts) {
  const auto scale = [&](PieceCost& piece) {
    const auto shorten = [&](std::vector<double>& seconds) {
      for (double& one : seconds) one = one * from / to;
    };
    for (KeptActivations& kept : piece.kept) {
      const double scaled = kOfAlignment * static_cast<double>(kept.bytes) * from / to;
      const std::int64_t lost = kept.routed_row_bytes * experts;
      kept.bytes = std::max<std::int64_t>(0, static_cast<std::int64_t>(scaled) - lost);
      shorten(kept.again_s);
      shorten(kept.again_staying_s);
    }
    shorten(piece.forward_s);
    shorten(piece.pass_s);
    shorten(piece.staying_s);
  };
  for (auto& [kind, piece] : pieces.blocks) scale(piece);
  scale(pieces.first);
  scale(pieces.last);
  return pieces;
}

}  // namespace tuner
