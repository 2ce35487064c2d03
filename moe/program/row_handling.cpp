#include "moe/program/row_handling.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace moe {
namespace {

/// The rows of a layer whose rows are padded, by the op that gathers its loads; none for other ops.
std::optional<LayerRouting> padded_routing(const Op& op, const Groups& groups) {
  const auto* loads = std::get_if<GatherLoads>(&op.kind);
  if (loads == nullptr) return std::nullopt;
  const std::vector<std::int64_t> of_rank(static_cast<std::size_t>(loads->experts),
                                          loads->rows_per_pair);
  LayerRouting padded{op.layer, loads->experts, {of_rank}, op.micro_batch};
  padded.alike = stage_ranks(groups);
  return padded;
}

}  // namespace

namespace {

bool is_relayed(Rows rows) {
  return rows == Rows::relayed || rows == Rows::leader_sent || rows == Rows::leader_received;
}

/// [MoE layer]: the kinds of rows between legs that its tensors hold, each once.
std::map<int, std::vector<Rows>> relays_by_layer(const Program& program) {
  std::map<int, std::vector<Rows>> relays;
  for (const Tensor& tensor : program.tensors) {
    if (!is_relayed(tensor.rows_are)) continue;
    std::vector<Rows>& of_layer = relays[tensor.layer];
    if (std::ranges::find(of_layer, tensor.rows_are) == of_layer.end()) {
      of_layer.push_back(tensor.rows_are);
    }
  }
  return relays;
}

}  // namespace

std::map<int, std::vector<Slice>> slice_cuts(const Program& program) {
  std::map<int, std::set<std::pair<int, int>>> found;  // fractions
  for (const Op& op : program.ops) {
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) {
        const Tensor& tensor = program.tensors[use.tensor];
        if (tensor.rows_are == Rows::fixed) continue;
        auto& of_layer = found[tensor.layer];
        for (const int index : {use.slice.index, use.slice.index + use.slice.span}) {
          const int divisor = std::gcd(index, use.slice.count);
          of_layer.insert({index / divisor, use.slice.count / divisor});
        }
      }
    }
  }
  std::map<int, std::vector<Slice>> cuts;
  for (auto& [layer, fractions] : found) {
    fractions.insert({{0, 1}, {1, 1}});
    std::vector<Slice>& of_layer = cuts[layer];
    for (const auto& [index, count] : fractions) of_layer.push_back({index, count});
    std::ranges::sort(of_layer, [](Slice a, Slice b) {
      return static_cast<std::int64_t>(a.index) * b.count <
             static_cast<std::int64_t>(b.index) * a.count;
    });
  }
  return cuts;
}

std::map<int, RowHandling> row_handling(const Program& program) {
  std::map<int, RowHandling> handling;
  const std::map<int, std::vector<Slice>> cuts = slice_cuts(program);
  const std::map<int, std::vector<Rows>> relays = relays_by_layer(program);
  for (const Op& op : program.ops) {
    const ExchangeCounts* counts = counts_of(op);
    if (counts == nullptr) continue;
    const auto [layer, added] = handling.try_emplace(op.layer);
    if (!added) continue;
    const auto own_cuts = cuts.find(op.layer);
    const auto own_relays = relays.find(op.layer);
    layer->second = {own_cuts != cuts.end() ? own_cuts->second : std::vector<Slice>{{0, 1}, {1, 1}},
                     own_relays != relays.end() ? own_relays->second : std::vector<Rows>(),
                     {},
                     counts->ranks_per_group};
  }
  for (auto& [layer, placement] : placements(program)) {
    if (const auto found = handling.find(layer); found != handling.end()) {
      found->second.placement = placement;
    }
  }
  return handling;
}

Routing exchanged_rows(const Program& program, Routing routing) {
  for (const Op& op : program.ops) {
    auto padded = padded_routing(op, program.groups);
    if (!padded) continue;
    for (LayerRouting& layer : routing.layers) {
      if (RoutedLayer{layer.layer, layer.micro_batch} == routed_layer(op)) {
        layer = std::move(*padded);
        break;
      }
    }
  }
  return routing;
}

AllRoutedRows::AllRoutedRows(const Program& program, const Routing& routing)
    : AllRoutedRows(program, &routing) {}
AllRoutedRows::AllRoutedRows(const Program& program) : AllRoutedRows(program, nullptr) {}

AllRoutedRows::AllRoutedRows(const Program& program, const Routing* routing)
    : handling_(row_handling(program)) {
  for (const Op& op : program.ops) {
    const LayerRouting* counts = nullptr;
    if (auto padded = padded_routing(op, program.groups)) {
      counts = &parts_.emplace_back(std::move(*padded));
    } else if (routing != nullptr && binds_routing(op)) {
      counts = &layer_of(*routing, routed_layer(op));
      if (!is_whole(op.part)) counts = &parts_.emplace_back(part_of(*counts, op.part));
    } else {
      continue;
    }
    const RowHandling& handling = handling_.at(op.layer);
    layers_.push_back(
        {routed_layer(op), &handling, counts, &shares_.emplace_back(handling.placement, *counts)});
  }
}

RowLayout make_row_layout(const RoutedRows& rows, const Groups& groups, int rank) {
  return make_row_layout(*rows.counts, groups, rank, *rows.handling, rows.shares->of(groups, rank));
}

Binding AllRoutedRows::bind(const Groups& groups, int rank) const {
  Binding binding;
  for (const RoutedRows& rows : layers_) {
    binding.layouts.emplace(rows.at, make_row_layout(rows, groups, rank));
  }
  return binding;
}

Binding padded_rows(const Program& program, const Groups& groups, int rank) {
  return AllRoutedRows(program).bind(groups, rank);
}

Binding bind(const Program& program, const Routing& routing, const Groups& groups, int rank) {
  return AllRoutedRows(program, routing).bind(groups, rank);
}

}  // namespace moe
