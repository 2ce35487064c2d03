#include "moe/program/even_routing.h"

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "moe/rows/binding.h"

namespace moe {
namespace {

/// The most rows that one rank sends to one expert, by MoE layer; none where it is dropless.
std::map<int, std::int64_t> most_per_pair(const Program& program) {
  std::map<int, std::int64_t> most;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.rows_per_pair > 0) most[tensor.layer] = tensor.rows_per_pair;
  }
  return most;
}

}  // namespace

Routing even_routing(const Program& program, const Groups& groups) {
  const std::map<int, std::int64_t> most = most_per_pair(program);
  std::map<RoutedLayer, std::int64_t> copies;
  for (const Op& op : program.ops) {
    if (const auto* select = std::get_if<SelectExperts>(&op.kind)) {
      const Use& ranking = op.reads.front();
      const std::int64_t rows = rows_of(program.tensors[ranking.tensor], ranking.slice, {});
      copies[{op.layer, op.micro_batch, 0}] += rows * select->choices;
    }
  }
  std::set<RoutedLayer> known;
  Routing routing;
  for (const Op& op : program.ops) {
    const ExchangeCounts* counts = counts_of(op);
    const RoutedLayer at{op.layer, op.micro_batch, 0};
    if (counts == nullptr || !known.insert(at).second) continue;
    const auto found = copies.find(at);
    std::int64_t all = found == copies.end() ? 0 : found->second;
    if (const auto limit = most.find(op.layer); limit != most.end()) {
      const std::int64_t room = limit->second * counts->experts;
      all = all == 0 ? room : std::min(all, room);
    }
    LayerRouting& one =
        routing.layers.emplace_back(uniform_routing(op.layer, 1, counts->experts, all));
    one.micro_batch = op.micro_batch;
    one.alike = stage_ranks(groups);
  }
  return routing;
}

}  // namespace moe
