#include "microbench/collectives/exchange_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "db/console/shown_text.h"
#include "db/experts_in_order.h"
#include "microbench/pattern.h"
#include "moe/errors.h"
#include "moe/rows/routing_file.h"

namespace microbench {
namespace {

constexpr std::string_view kZipf = "zipf:";
constexpr double kMostExponent = 20;
constexpr std::int64_t kCopiesOfRank = 1 << 20;
constexpr std::uint64_t kSeed = 1;

using Weights = std::vector<std::vector<double>>;

bool is_word(const std::string& routing) {
  return routing == "uniform" || routing.starts_with(kZipf);
}

double exponent_of(const std::string& routing) {
  const std::string_view text = std::string_view(routing).substr(kZipf.size());
  double exponent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error == std::errc() && end == text.data() + text.size() && exponent >= 0 &&
      exponent <= kMostExponent) {
    return exponent;
  }
  throw moe::InputError(
      fmt::format("--routing {}: expected zipf: and an exponent from 0 to {}, as in zipf:1.2",
                  db::shortened(routing), kMostExponent));
}

[[noreturn]] void refuse_exchange(const std::string& routing, const std::string& why) {
  throw moe::InputError(fmt::format("--routing {}: {}", db::shortened(routing, 200), why));
}

/// Of experts in order on the ranks (db/experts_in_order.h).
Weights by_rank(const std::string& routing, const moe::LayerRouting& layer, int ranks) {
  if (layer.experts < ranks) {
    refuse_exchange(routing,
                    fmt::format("{} experts are fewer than {} ranks", layer.experts, ranks));
  }
  const db::ExpertsInOrder in_order{layer.experts, ranks};
  const int rows = moe::source_ranks(layer);
  if (rows != ranks && layer.tokens.size() != 1) {
    refuse_exchange(routing, fmt::format("layer {} has {} source ranks: expected {}", layer.layer,
                                         rows, ranks));
  }
  Weights weights(ranks, std::vector<double>(ranks));
  for (int from = 0; from < ranks; ++from) {
    const auto& tokens = layer.tokens[layer.tokens.size() == 1 ? 0 : from];
    for (int expert = 0; expert < layer.experts; ++expert) {
      weights[from][in_order.home_of(expert)] += static_cast<double>(tokens[expert]);
    }
  }
  return weights;
}

/// The numbers of a byte matrix.
Weights byte_matrix(const std::string& routing, std::string_view text, int ranks) {
  Weights rows;
  int line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    std::vector<double> row;
    while (true) {
      const std::size_t first = line.find_first_not_of(" \t\r,;");
      if (first == std::string_view::npos) break;
      line.remove_prefix(first);
      const std::string_view word = line.substr(0, line.find_first_of(" \t\r,;"));
      double number = 0;
      const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || last != word.data() + word.size() || !(number >= 0) ||
          !std::isfinite(number)) {
        throw moe::InputError(
            fmt::format("{}:{}: \"{}\": expected a number of bytes, or the JSON of a routing",
                        routing, line_number, db::shortened(word)));
      }
      row.push_back(number);
      line.remove_prefix(word.size());
    }
    if (row.empty()) continue;
    if (static_cast<int>(row.size()) != ranks) {
      throw moe::InputError(fmt::format("{}:{}: {} numbers: expected {}, one for each rank",
                                        routing, line_number, row.size(), ranks));
    }
    rows.push_back(std::move(row));
  }
  if (static_cast<int>(rows.size()) != ranks) {
    refuse_exchange(routing, fmt::format("{} lines of numbers: expected {}, one for each rank",
                                         rows.size(), ranks));
  }
  return rows;
}

Weights weights_of_file(const std::string& routing, std::string_view text, int ranks) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
    return byte_matrix(routing, text, ranks);
  }
  const moe::RoutingFile file = moe::routing_file_from_json(text, routing);
  if (file.routing.layers.empty()) refuse_exchange(routing, "no layers");
  return by_rank(routing, file.routing.layers.front(), ranks);
}

/// Elements that each rank sends to each, where the busiest receives `count`: every rank receives
/// its share of that, rounded, and what rounding down leaves of it comes from those of whose parts
/// it took most; of equals from the next rank on, a rank's own part last.
std::vector<std::vector<std::int64_t>> elements_of(const ExchangeMatrix& exchange,
                                                   std::int64_t count) {
  const std::size_t ranks = exchange.weight.size();
  std::vector<double> received(ranks);
  for (const auto& row : exchange.weight) {
    for (std::size_t to = 0; to < ranks; ++to) received[to] += row[to];
  }
  const double of_weight = static_cast<double>(count) / std::ranges::max(received);
  std::vector<std::vector<std::int64_t>> elements(ranks, std::vector<std::int64_t>(ranks));
  for (std::size_t to = 0; to < ranks; ++to) {
    std::int64_t left = std::llround(received[to] * of_weight);
    std::vector<std::pair<double, std::size_t>> lost;  // with the sender
    for (std::size_t next = 1; next <= ranks; ++next) {
      const std::size_t from = (to + next) % ranks;
      const double share = exchange.weight[from][to] * of_weight;
      elements[from][to] = static_cast<std::int64_t>(share);
      left -= elements[from][to];
      lost.emplace_back(share - std::floor(share), from);
    }
    std::ranges::stable_sort(lost, std::greater(), &std::pair<double, std::size_t>::first);
    for (const auto& [share, from] : lost) {
      if (left-- > 0) ++elements[from][to];
    }
  }
  return elements;
}

template <typename Number>
bool leaves_a_rank(const std::vector<std::vector<Number>>& matrix) {
  for (std::size_t from = 0; from < matrix.size(); ++from) {
    for (std::size_t to = 0; to < matrix.size(); ++to) {
      if (from != to && matrix[from][to] > 0) return true;
    }
  }
  return false;
}

std::int64_t received_by(const std::vector<std::vector<std::int64_t>>& elements, std::size_t to) {
  std::int64_t sum = 0;
  for (const auto& row : elements) sum += row[to];
  return sum;
}

}  // namespace

bool names_exchange_file(const std::string& routing) {
  return !routing.empty() && !is_word(routing);
}

ExchangeMatrix exchange_matrix(const std::string& routing, std::string_view text, int ranks) {
  ExchangeMatrix exchange{routing, {}};
  if (is_word(routing)) {
    const double exponent = routing == "uniform" ? 0 : exponent_of(routing);
    const int experts = (std::max(kExchangeExperts, ranks) + ranks - 1) / ranks * ranks;
    exchange.weight =
        by_rank(routing, moe::zipf_routing(0, 1, experts, kCopiesOfRank, exponent, kSeed), ranks);
  } else {
    exchange.weight = weights_of_file(routing, text, ranks);
  }
  for (const auto& row : exchange.weight) {
    if (std::accumulate(row.begin(), row.end(), 0.0) > 0) return exchange;
  }
  refuse_exchange(routing, "nothing is sent");
}

bool exchanges(const ExchangeMatrix& exchange, std::int64_t count) {
  return leaves_a_rank(elements_of(exchange, count)) || !leaves_a_rank(exchange.weight);
}

MeasuredCollective routed_all_to_all_v(const ExchangeMatrix& exchange) {
  return {.multiple = {}, .part = [exchange](const Bench& bench, std::int64_t count) {
            const auto elements = elements_of(exchange, count);
            const int rank = bench.world.rank, ranks = bench.world.size;
            std::int64_t most = 0, total = 0;
            for (int to = 0; to < ranks; ++to) {
              most = std::max(most, received_by(elements, to));
              total += received_by(elements, to);
            }
            const double imbalance = static_cast<double>(most) * ranks /
                                     static_cast<double>(std::max<std::int64_t>(total, 1));
            CollectivePart part;
            part.call = moe::collective::AllToAllV{.row_bytes = moe::bytes_of(bench.dtype)};
            part.count = most;
            part.before = [rank](auto i) { return pattern(rank, i); };
            part.parameters_json = nlohmann::json{
                {"imbalance", std::round(1e4 * imbalance) / 1e4},
                {"matrix",
                 exchange.name}}.dump();
            // By sender: where its part begins in what it sends, and in what arrives here.
            std::vector<std::int64_t> sent_at(ranks), arrives_at(ranks);
            for (int peer = 0; peer < ranks; ++peer) {
              part.send.push_back({peer, part.sent, elements[rank][peer]});
              part.sent += elements[rank][peer];
              for (int to = 0; to < rank; ++to) sent_at[peer] += elements[peer][to];
              arrives_at[peer] = part.received;
              part.receive.push_back({peer, part.received, elements[peer][rank]});
              part.received += elements[peer][rank];
            }
            const std::int64_t received = part.received;
            part.received = std::max<std::int64_t>(received, 1);  // 0 would be a call in place
            part.after = [=](auto i) {
              if (i >= received) return std::int64_t{-1};
              const int from =
                  static_cast<int>(std::upper_bound(arrives_at.begin(), arrives_at.end(), i) -
                                   arrives_at.begin() - 1);
              return pattern(from, sent_at[from] + i - arrives_at[from]);
            };
            return part;
          }};
}

}  // namespace microbench
