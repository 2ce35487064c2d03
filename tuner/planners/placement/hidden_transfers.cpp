#include "tuner/planners/placement/hidden_transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/placement/transfer_loads.h"

namespace tuner {
namespace {

constexpr int kShares = 100;

/// [MoE layer]: the MoE layer before it in its pipeline stage.
std::map<int, int> layer_before(const moe::Program& program) {
  std::map<int, int> before, last_in;  // last_in: by stage
  std::map<int, int> stage_of_layer;
  for (const moe::Op& op : program.ops) {
    if (moe::is_all_to_all(op)) stage_of_layer.emplace(op.layer, op.stage);
  }
  for (const auto& [layer, stage] : stage_of_layer) {
    if (const auto last = last_in.find(stage); last != last_in.end()) {
      before.emplace(layer, last->second);
    }
    last_in[stage] = layer;
  }
  return before;
}

/// The number of shares, out of kShares, beside the computation whose time is known.
int known_shares(double transfer_s, double known_s) {
  if (!(transfer_s > 0)) return kShares;
  const TransferShares split = split_transfer(transfer_s, known_s);
  return static_cast<int>(std::lround(kShares * split.known_s / transfer_s));
}

using Slices = std::vector<moe::TransferSlice>;

Slices without_empty(Slices slices) {
  std::erase_if(slices, [](const moe::TransferSlice& slice) { return slice.share == 0; });
  return slices;
}

Slices send_slices(int before, double trans_s, double fnec_s) {
  const int known = known_shares(trans_s, fnec_s);
  return without_empty({{kShares - known, moe::ExchangePlace::dispatch, before},
                        {known, moe::ExchangePlace::combine, before}});
}

Slices return_slices(int layer, std::optional<int> before, double agg_s, double bnec_s) {
  const int known = before ? known_shares(agg_s, bnec_s) : kShares;
  return without_empty({{known, moe::ExchangePlace::block, layer},
                        {kShares - known, moe::ExchangePlace::dispatch, before.value_or(0)}});
}

moe::ExpertHomes homes_in(const moe::Schedule& schedule, const PlacedLayer& layer) {
  moe::ExpertHomes homes = placement_of(schedule, layer.layer).homes;
  return homes.empty() ? layer.rows.homes : homes;
}

}  // namespace

moe::Schedule with_hidden_transfers(const Situation& situation, moe::Schedule placed, bool halves) {
  const auto before = layer_before(situation.program);
  moe::Schedule schedule = std::move(placed);
  const auto sent = moe::decisions_of<moe::ReplicateExperts>(schedule);
  for (const PlacedLayer& layer : placed_layers(situation)) {
    const auto decision = std::find_if(sent.begin(), sent.end(),
                                       [&](const auto& one) { return one.layer == layer.layer; });
    if (decision == sent.end()) continue;
    const TransferTimes times =
        transfer_times(layer.costs, decision->placement, homes_in(schedule, layer));
    const auto found = before.find(layer.layer);
    std::optional<int> last;
    if (found != before.end()) last = found->second;
    const double fnec_s = halves ? times.trans_s / 2 : layer.costs.fnec_s;
    const double bnec_s = halves ? times.agg_s / 2 : layer.costs.bnec_s;
    if (last) {
      schedule.decisions.push_back(moe::HoistTransfer{layer.layer, moe::Transfer::send,
                                                      send_slices(*last, times.trans_s, fnec_s)});
    }
    schedule.decisions.push_back(
        moe::HoistTransfer{layer.layer, moe::Transfer::give_back,
                           return_slices(layer.layer, last, times.agg_s, bnec_s)});
  }
  append(schedule, pipeline_schedule(situation.program, {}, {1, 1}).decisions);
  if (!sent.empty()) {
    for (const char* kind : {"send_experts", "return_gradients"}) {
      schedule.decisions.push_back(moe::StreamAssignment{kind, moe::Stream::inter_node});
    }
  }
  return schedule;
}

}  // namespace tuner
