#include "moe/model/combination_refusal.h"

#include <fmt/format.h>

#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/orders/orders.h"

namespace moe {

namespace {

std::optional<CombinationRefusal> refusal_of_groups(const Model& model) {
  const int groups = model.expert_groups, best = best_groups(model);
  if (model.experts % groups != 0) {
    return CombinationRefusal{
        "expert_groups",
        fmt::format("expected a divisor of experts = {}, got {}", model.experts, groups)};
  }
  if (best > groups) {
    return CombinationRefusal{
        "best_groups", fmt::format("expected at most expert_groups = {}, got {}", groups, best)};
  }
  const int of_group = model.experts / groups;
  if (best * of_group < model.choices) {
    return CombinationRefusal{
        "best_groups",
        fmt::format("expected groups with at least choices = {} experts, got {} of {}",
                    model.choices, best, of_group)};
  }
  if (group_experts_counted(model) > of_group && best < groups) {
    return CombinationRefusal{"group_experts_counted",
                              fmt::format("expected at most {} experts of a group, got {}",
                                          of_group, group_experts_counted(model))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<CombinationRefusal> combination_refusal(const Model& model) {
  if (blocks_with_experts(model) == 0) return std::nullopt;
  const Chooser chooser = gate_named(model.gate).facts.chooser;
  if (takes_whole_groups(chooser) && !model.capacity_factor) {
    return CombinationRefusal{
        "capacity_factor",
        fmt::format(
            "expected a number above 0 with gate = \"{}\", which gives every expert choices x "
            "capacity_factor x tokens / experts rows, got \"dropless\"",
            model.gate)};
  }
  if (model.exchange == ExchangedRows::padded && !model.capacity_factor) {
    return CombinationRefusal{
        "exchange",
        "expected \"irregular\" without a capacity_factor, got \"padded\": there is no "
        "capacity that rows could be padded to"};
  }
  if (chooser == Chooser::nobody && order_named(model.order).slots != Slots::mixtures) {
    std::string able;
    for (const Order& order : orders()) {
      if (order.slots != Slots::mixtures) continue;
      able += fmt::format("{}\"{}\"", able.empty() ? "" : " or ", order.name);
    }
    return CombinationRefusal{
        "order", fmt::format("expected {} with gate = \"{}\", whose slots mix tokens, got "
                             "\"{}\", which copies them",
                             able, model.gate, model.order)};
  }
  if (chooser == Chooser::nobody && model.capacity_groups == 0) {
    return CombinationRefusal{
        "capacity_groups",
        fmt::format(
            "expected a number above 0 with gate = \"{}\", whose matrix has a column for "
            "each slot of a group, got 0, which makes other groups and so another matrix on "
            "other ranks: {} makes a group of each sequence",
            model.gate, model.global_batch)};
  }
  if (auto refusal = refusal_of_groups(model)) return refusal;
  for (const auto& [place, name] : model.hooks) {
    if (hook_named(name).rows == HookRows::tokens && routed_rows_at(hook_place_named(place))) {
      return CombinationRefusal{
          "hooks", fmt::format("{} = \"{}\": expected before_moe_start or before_moe_end for "
                               "this hook, which has to know which tokens its rows are",
                               place, name)};
    }
  }
  return std::nullopt;
}

}  // namespace moe
