#include "moe/program/row_handling.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace moe {

std::vector<Rows> relays_of(const Program& program, int layer) {
  std::vector<Rows> relays;
  for (const Tensor& tensor : program.tensors) {
    const bool relayed = tensor.rows_are == Rows::relayed || tensor.rows_are == Rows::leader_sent ||
                         tensor.rows_are == Rows::leader_received;
    if (relayed && tensor.layer == layer &&
        std::find(relays.begin(), relays.end(), tensor.rows_are) == relays.end()) {
      relays.push_back(tensor.rows_are);
    }
  }
  return relays;
}

std::vector<Slice> slice_cuts(const Program& program, int layer) {
  std::vector<Slice> cuts{{0, 1}, {1, 1}};
  const auto add = [&](int index, int count) {
    const int divisor = std::gcd(index, count);
    cuts.push_back({index / divisor, count / divisor});
  };
  for (const Op& op : program.ops) {
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) {
        const Tensor& tensor = program.tensors[use.tensor];
        if (tensor.rows_are == Rows::fixed || tensor.layer != layer) continue;
        add(use.slice.index, use.slice.count);
        add(use.slice.index + use.slice.span, use.slice.count);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end(), [](Slice a, Slice b) {
    return static_cast<std::int64_t>(a.index) * b.count <
           static_cast<std::int64_t>(b.index) * a.count;
  });
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

std::map<int, RowHandling> row_handling(const Program& program) {
  std::map<int, RowHandling> handling;
  for (const Op& op : program.ops) {
    if (!binds_routing(op)) continue;
    const auto [layer, added] = handling.try_emplace(op.layer);
    if (!added) continue;
    layer->second = {slice_cuts(program, op.layer),
                     relays_of(program, op.layer),
                     {},
                     std::get<ExchangeCounts>(op.kind).ranks_per_group};
  }
  for (auto& [layer, placement] : placements(program)) {
    if (const auto found = handling.find(layer); found != handling.end()) {
      found->second.placement = placement;
    }
  }
  return handling;
}

AllRoutedRows::AllRoutedRows(const Program& program, const Routing& routing)
    : handling_(row_handling(program)) {
  for (const Op& op : program.ops) {
    if (!binds_routing(op)) continue;
    const LayerRouting* counts = &layer_of(routing, routed_layer(op));
    if (!is_whole(op.part)) counts = &parts_.emplace_back(part_of(*counts, op.part));
    layers_.push_back({routed_layer(op), &handling_.at(op.layer), counts});
  }
}

Binding AllRoutedRows::bind(const Groups& groups, int rank) const {
  Binding binding;
  for (const RoutedRows& rows : layers_) {
    binding.layouts.emplace(rows.at, make_row_layout(*rows.counts, groups, rank, *rows.handling));
  }
  return binding;
}

Binding bind(const Program& program, const Routing& routing, const Groups& groups, int rank) {
  return AllRoutedRows(program, routing).bind(groups, rank);
}

}  // namespace moe
