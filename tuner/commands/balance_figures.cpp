#include "tuner/commands/balance_figures.h"

#include <algorithm>
#include <string_view>

#include "db/timeline/exposure.h"
#include "db/timeline/span_index.h"
#include "moe/program/even_routing.h"
#include "moe/rows/balance.h"
#include "moe/rows/row_shares.h"
#include "tuner/costs/rule_time.h"
#include "tuner/planners/joint/aspects.h"
#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

double max_over_mean(const Situation& situation, const moe::Schedule& schedule,
                     const Prediction& prediction) {
  double most = 1;
  for (const moe::LayerRouting& layer : prediction.routing.layers) {
    const moe::ExpertPlacement placement = placement_in(situation, schedule, layer.layer);
    most = std::max(most, max_over_mean(moe::rank_tokens(layer, situation.groups, placement)));
  }
  return most;
}

namespace {

struct HomeRows {
  std::int64_t at_home = 0, all = 0;
};

/// Rows of a layer, and those that the homes of their experts compute.
HomeRows home_rows(const moe::LayerRouting& layer, const moe::Groups& groups,
                   const moe::ExpertPlacement& placement) {
  HomeRows rows;
  moe::SharesByCopy by_copy(placement, layer);
  const int members = groups.layout.expert, shards = groups.layout.expert_sharded;
  for (int first = 0; first < moe::stage_ranks(groups); first += members * shards) {
    const auto& [placed, shares] = by_copy.of(groups, first);
    for (int expert = 0; expert < layer.experts; ++expert) {
      const int home = moe::home_of(placed.slots, expert);
      for (int source = 0; source < members; ++source) {
        for (int shard = 0; shard < shards; ++shard) {
          rows.at_home += shares.rows(shard, source, expert, home);
        }
      }
    }
  }
  for (const std::int64_t tokens : moe::expert_tokens(layer)) rows.all += tokens;
  return rows;
}

double sent_bytes(const OpCost& cost) {
  double sum = 0;
  for (const GroupCall& call : cost.calls) {
    for (std::size_t member = 0; member < call.bytes.size(); ++member) {
      sum += (call.bytes[member].out_within + call.bytes[member].for_other_nodes()) *
             copies_of(call, member);
    }
    for (const Transfer& transfer : call.transfers) {
      const auto from = std::ranges::lower_bound(call.ranks, transfer.from) - call.ranks.begin();
      sum += static_cast<double>(transfer.bytes) * transfer.out *
             copies_of(call, static_cast<std::size_t>(from));
    }
  }
  return sum;
}

}  // namespace

std::optional<ReplicaFigures> replica_figures(const Situation& situation,
                                              const moe::Schedule& schedule,
                                              const Prediction& prediction,
                                              const db::Timeline& timeline) {
  ReplicaFigures figures;
  HomeRows rows;
  bool replicates = false;
  for (const moe::LayerRouting& layer : prediction.routing.layers) {
    const moe::ExpertPlacement placement = placement_in(situation, schedule, layer.layer);
    replicates = replicates || moe::has_replicas(placement);
    const HomeRows of_layer = home_rows(layer, situation.groups, placement);
    rows.at_home += of_layer.at_home;
    rows.all += of_layer.all;
  }
  if (!replicates) return std::nullopt;
  figures.away_share = 1 - static_cast<double>(rows.at_home) / static_cast<double>(rows.all);
  const auto placements = moe::placements(prediction.program);
  std::vector<double> rules_s(static_cast<std::size_t>(prediction.program.stages));
  double bytes = 0;
  for (std::size_t i = 0; i < prediction.program.ops.size(); ++i) {
    const moe::Op& op = prediction.program.ops[i];
    if (moe::moves_experts(op)) bytes += sent_bytes(prediction.costs.ops[i]);
    const std::string_view rule = rule_at(placements, op);
    if (rule.empty()) continue;
    rules_s[op.stage] += rule_seconds(situation.costs, rule,
                                      counted_bytes(moe::counts_of(op)->experts, situation.groups));
  }
  figures.expert_bytes = static_cast<std::int64_t>(bytes);
  figures.rule_s = std::ranges::max(rules_s);
  for (const db::ExposedOp& op : db::exposed_ops(timeline, db::index_spans(timeline), false)) {
    if (op.sample.kind == moe::SendExperts::facts.name ||
        op.sample.kind == moe::ReturnGradients::facts.name) {
      figures.exposed_experts_s += op.exposed_s;
    }
  }
  return figures;
}

EvenLoads::EvenLoads(const Situation& situation)
    : even_(moe::even_routing(situation.program, situation.groups)),
      situation_{situation.program, situation.groups, even_, situation.costs, situation.cluster} {
  situation_.memory = &memory_;
}

double EvenLoads::force_balanced_share(const moe::Schedule& schedule,
                                       const Prediction& prediction) const {
  moe::Schedule at_home = schedule;
  std::erase_if(at_home.decisions, [](const moe::Decision& decision) {
    return aspect_of(decision) == Aspect::placement;
  });
  return simulated_s(situation_, at_home) / prediction.timeline.duration_s;
}

}  // namespace tuner
