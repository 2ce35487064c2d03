#include "moe/program/start_rule.h"

#include <algorithm>
#include <map>

#include "moe/rows/binding.h"

namespace moe {
namespace {

void insert_sorted(std::vector<int>& values, int value) {
  const auto place = std::lower_bound(values.begin(), values.end(), value);
  if (place == values.end() || *place != value) values.insert(place, value);
}

}  // namespace

std::vector<std::vector<int>> waits_for(const Program& program) {
  std::vector<std::vector<int>> waits = dependencies(program);
  std::map<RoutedLayer, int> exchange_of;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (binds_routing(op)) exchange_of[routed_layer(op)] = static_cast<int>(i);
    const auto wait_for = [&](const RoutedLayer& layer) {
      const auto exchange = exchange_of.find(layer);
      if (exchange != exchange_of.end()) insert_sorted(waits[i], exchange->second);
    };
    if (depends_on_counts(op)) wait_for(routed_layer(op));
    for (const auto* uses : {&op.reads, &op.writes}) {
      for (const Use& use : *uses) {
        const Tensor& tensor = program.tensors[use.tensor];
        if (tensor.rows_are != Rows::fixed) wait_for(routed_layer(tensor));
      }
    }
  }
  return waits;
}

StartRule start_rule(const Program& program) {
  StartRule rule;
  rule.waits_for = waits_for(program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Stream own = program.ops[i].stream;
    auto& queue = rule.queues[static_cast<std::size_t>(own)];
    StreamProgress progress{};
    const auto after = [&](int op) {
      const auto index = static_cast<std::size_t>(op);
      for (std::size_t s = 0; s < kStreamCount; ++s) {
        progress[s] = std::max(progress[s], rule.progress[index][s]);
      }
      int& of_stream = progress[static_cast<std::size_t>(rule.stream[index])];
      of_stream = std::max(of_stream, rule.place[index] + 1);
    };
    if (!queue.empty()) after(queue.back());
    for (const int earlier : rule.waits_for[i]) after(earlier);
    rule.progress.push_back(progress);
    rule.place.push_back(static_cast<int>(queue.size()));
    rule.stream.push_back(own);
    queue.push_back(static_cast<int>(i));
  }
  return rule;
}

bool ends_before(const StartRule& rule, int earlier, int op) {
  const auto index = static_cast<std::size_t>(earlier);
  return rule.progress[static_cast<std::size_t>(op)][static_cast<std::size_t>(rule.stream[index])] >
         rule.place[index];
}

}  // namespace moe
