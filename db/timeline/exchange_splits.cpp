#include "db/timeline/exchange_splits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "db/experts_in_order.h"
#include "db/load.h"

namespace db {
namespace {

bool is_countable(const std::vector<Load>& loads, int ranks, int& experts) {
  for (const Load& load : loads) {
    experts = std::max(experts, load.expert + 1);
    if (load.micro_batch > 0 || load.rank < 0 || load.rank >= ranks || load.expert < 0) {
      return false;
    }
  }
  return experts >= ranks;
}

}  // namespace

ExchangeTokens exchange_tokens(const Connection& connection, const TimelineInfo& timeline,
                               int ranks) {
  ExchangeTokens tokens;
  if (!timeline.run_id || ranks < 1) return tokens;
  const std::vector<Load> loads = load_loads(connection, {.run_id = *timeline.run_id,
                                                          .first_iteration = timeline.iteration,
                                                          .last_iteration = timeline.iteration});
  int experts = 0;
  if (!is_countable(loads, ranks, experts)) return tokens;
  const ExpertsInOrder in_order{experts, ranks};
  const auto count = static_cast<std::size_t>(ranks);
  for (const Load& load : loads) {
    auto& layer = tokens.layers[load.layer];
    layer.resize(count, std::vector<std::int64_t>(count, 0));
    layer[static_cast<std::size_t>(load.rank)]
         [static_cast<std::size_t>(in_order.home_of(load.expert))] += load.tokens;
  }
  return tokens;
}

Splits exchange_splits(const ExchangeTokens& tokens, int layer, int rank, std::int64_t bytes,
                       bool back) {
  const auto found = tokens.layers.find(layer);
  if (found == tokens.layers.end()) return {};
  const auto& matrix = found->second;
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::int64_t> sent, received;
  std::int64_t on_wire = 0;
  for (std::size_t other = 0; other < matrix.size(); ++other) {
    sent.push_back(back ? matrix[other][own] : matrix[own][other]);
    received.push_back(back ? matrix[own][other] : matrix[other][own]);
    if (other != own) on_wire += sent.back();
  }
  if (on_wire == 0) return {};
  const double bytes_per_token = static_cast<double>(bytes) / static_cast<double>(on_wire);
  for (auto* split : {&sent, &received}) {
    for (std::int64_t& part : *split) {
      part = std::llround(static_cast<double>(part) * bytes_per_token);
    }
  }
  return {sent, received};
}

}  // namespace db
