#include "moe/passes/exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/way_out.h"
#include "moe/rows/expert_nodes.h"

namespace moe {
namespace {

constexpr std::string_view kNoExperts = "no experts there";
constexpr std::string_view kDecided = "its exchange is decided already";
constexpr const char* kOneRoute = "expected one route for each exchange";

constexpr std::array<std::string_view, 4> kRoutes{"flat", "one_d", "two_d", "pairwise"};

std::string describe_exchange(const Exchange& exchange) {
  std::string route(route_name(exchange.route));
  if (exchange.route == Route::pairwise) {
    route += fmt::format(" in groups of {}", exchange.ranks_per_group);
  }
  return fmt::format(
      "exchange: {} (layer {}, {}{})", route, exchange.layer, phase_name(exchange.phase),
      exchange.direction ? fmt::format(" {}", direction_name(*exchange.direction)) : "");
}

[[noreturn]] void refuse_exchange(const Exchange& exchange, std::string_view why,
                                  std::string way_out, std::string op = {}) {
  throw Refusal(describe_exchange(exchange), why, std::move(way_out),
                {std::move(op), exchange.layer});
}

/// The number of ranks that an expert group has on each of its nodes.
std::vector<std::size_t> ranks_by_node(const Groups& groups, int rank) {
  std::vector<std::size_t> ranks;
  for (const auto& node : expert_nodes(groups, rank).members) ranks.push_back(node.size());
  return ranks;
}

/// The number of ranks on each node, which must be the same for every expert group of the stage,
/// since all its ranks have one Program.
std::vector<std::size_t> check_nodes(const Groups& groups, int stage, const Exchange& exchange) {
  const int first_rank = stage * stage_ranks(groups);
  const std::vector<std::size_t> first = ranks_by_node(groups, first_rank);
  for (int rank = first_rank; rank < first_rank + stage_ranks(groups); ++rank) {
    if (index_in_group(groups, GroupKind::expert, rank) != 0) continue;
    const std::vector<std::size_t> ranks = ranks_by_node(groups, rank);
    const auto whose = fmt::format("the expert group of rank {} has {} ranks on its nodes", rank,
                                   fmt::join(ranks, ", "));
    if (std::any_of(ranks.begin(), ranks.end(), [&](auto n) { return n != ranks.front(); })) {
      refuse_exchange(exchange, whose, "expected equally many on each: flat and pairwise take any");
    }
    if (ranks != first) {
      refuse_exchange(
          exchange,
          fmt::format("{}, that of rank {} has {}", whose, first_rank, fmt::join(first, ", ")),
          "expected all expert groups alike: flat and pairwise take any");
    }
  }
  return first;
}

/// The kinds of rows between the legs of a route, from the source to the expert.
std::vector<Rows> stops(Route route) {
  if (route == Route::two_d) return {Rows::relayed};
  return {Rows::leader_sent, Rows::leader_received};
}

/// The tensors at both ends of an exchange, with sent and with received rows.
struct ExchangeEnds {
  const Tensor& sent;
  const Tensor& received;
};

/// The most rows that the capacity allows, as Tensor::rows. Each of P sources sends a rank at most
/// 1 / P of the most that the rank receives.
std::int64_t most_rows(Rows rows, const ExchangeEnds& ends, std::int64_t sources,
                       std::int64_t on_node) {
  const std::int64_t sent = ends.sent.rows, received = ends.received.rows;
  switch (rows) {
    case Rows::relayed:
      return std::min(on_node * sent, received);
    case Rows::leader_sent:
      return on_node * sent;
    case Rows::leader_received:
      return std::min(on_node * received, sources * sent);
    case Rows::fixed:
    case Rows::sent:
    case Rows::received:
    case Rows::gathered:
      break;
  }
  throw std::logic_error("exchange: rows that are not on their way");
}

OpKind leg_between(Rows from, Rows to) {
  const auto is = [&](Rows a, Rows b) { return (from == a && to == b) || (from == b && to == a); };
  if (is(Rows::relayed, Rows::received)) {
    return ExchangeAcrossNodes{GroupKind::expert_across, from, to};
  }
  if (is(Rows::leader_sent, Rows::leader_received)) {
    return ExchangeAcrossNodes{GroupKind::expert_leaders, from, to};
  }
  return ExchangeInNode{from, to};
}

void add_legs(Program& program, std::vector<Op>& ops, const Op& whole, Route route,
              std::int64_t on_node) {
  const bool dispatch = std::get<AllToAll>(whole.kind).direction == Direction::dispatch;
  const TensorId in = whole.reads[0].tensor, out = whole.writes[0].tensor;
  std::vector<Rows> between = stops(route);
  std::vector<TensorId> on_the_way{in};
  if (!dispatch) std::reverse(between.begin(), between.end());
  for (const Rows rows : between) {
    const auto& from = program.tensors[in];
    const auto& to = program.tensors[out];
    const ExchangeEnds ends = dispatch ? ExchangeEnds{from, to} : ExchangeEnds{to, from};
    Tensor tensor = from;
    tensor.name = fmt::format("{}.{}", from.name,
                              rows == Rows::relayed       ? "relayed"
                              : rows == Rows::leader_sent ? "leader_sent"
                                                          : "leader_received");
    tensor.rows_are = rows;
    tensor.rows = most_rows(rows, ends, program.groups.layout.expert, on_node);
    on_the_way.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(std::move(tensor));
  }
  on_the_way.push_back(out);
  for (std::size_t i = 0; i + 1 < on_the_way.size(); ++i) {
    const auto rows_of_tensor = [&](std::size_t at) {
      return program.tensors[on_the_way[at]].rows_are;
    };
    Op leg = whole;
    leg.kind = leg_between(rows_of_tensor(i), rows_of_tensor(i + 1));
    leg.name += std::holds_alternative<ExchangeInNode>(leg.kind) ? " in node" : " across nodes";
    leg.reads = {{on_the_way[i]}};
    leg.writes = {{on_the_way[i + 1]}};
    ops.push_back(std::move(leg));
  }
}

void add_steps(std::vector<Op>& ops, const Op& whole, int ranks_per_group, int steps) {
  for (int i = 0; i < steps; ++i) {
    Op step = whole;
    step.kind = ExchangeStep{std::get<AllToAll>(whole.kind).direction, ranks_per_group, i};
    step.name += fmt::format(" step {}/{}", i + 1, steps);
    if (i > 0) step.reads.push_back(whole.writes[0]);
    ops.push_back(std::move(step));
  }
}

}  // namespace

std::string_view route_name(Route route) { return kRoutes[static_cast<std::size_t>(route)]; }

void check_together(const std::vector<Exchange>& exchanges) {
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Exchange &a = exchanges[j], &b = exchanges[i];
      const bool same_way = !a.direction || !b.direction || a.direction == b.direction;
      if (a.layer == b.layer && a.phase == b.phase && same_way) {
        refuse_exchange(b, kDecided, kOneRoute);
      }
    }
  }
}

Program apply(Program program, const Exchange& exchange) {
  const Groups& groups = program.groups;
  const int ranks = groups.layout.expert;
  std::size_t on_node = 1, nodes = 1;
  int steps = 1;
  if (exchange.route == Route::pairwise) {
    const int size = exchange.ranks_per_group;
    if (size < 1 || ranks % size != 0) {
      refuse_exchange(exchange, fmt::format("{} ranks exchange rows", ranks),
                      fmt::format("expected one of {}", fmt::join(divisors(ranks), ", ")));
    }
    steps = ranks / size;
  } else if (exchange.route != Route::flat) {
    const auto op = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& candidate) {
      return candidate.layer == exchange.layer && is_all_to_all(candidate);
    });
    if (op == program.ops.end()) {
      refuse_exchange(exchange, kNoExperts, expected_moe_layer(program));
    }
    const std::vector<std::size_t> by_node = check_nodes(groups, op->stage, exchange);
    nodes = by_node.size();
    on_node = by_node.front();
  }

  std::array<bool, 2> found{};  // by direction
  bool decided = false;
  std::vector<Op> ops;
  for (Op& op : program.ops) {
    const bool here = op.layer == exchange.layer && op.phase == exchange.phase;
    const auto* whole = std::get_if<AllToAll>(&op.kind);
    decided = decided || (here && is_all_to_all(op) && whole == nullptr);
    if (!here || whole == nullptr ||
        whole->direction != exchange.direction.value_or(whole->direction)) {
      ops.push_back(std::move(op));
      continue;
    }
    found[static_cast<std::size_t>(whole->direction)] = true;
    if (ops.size() + static_cast<std::size_t>(steps) > kMostOps) {
      refuse_exchange(exchange, kTooManyOps, kFewerOps);
    }
    if (op.chunk.count != 1 || op.stream != Stream::compute) {
      refuse_exchange(exchange, "its exchange is cut or on a stream already",
                      "expected the route to be decided first", op.name);
    }
    if (steps > 1) {
      add_steps(ops, op, exchange.ranks_per_group, steps);
    } else if (nodes > 1 && on_node > 1) {
      add_legs(program, ops, op, exchange.route, static_cast<std::int64_t>(on_node));
    } else {
      ops.push_back(std::move(op));
    }
  }
  for (std::size_t direction = 0; direction < found.size(); ++direction) {
    if (found[direction] || direction != static_cast<std::size_t>(exchange.direction.value_or(
                                             static_cast<Direction>(direction)))) {
      continue;
    }
    if (decided) refuse_exchange(exchange, kDecided, kOneRoute);
    program.ops = std::move(ops);
    refuse_exchange(exchange, kNoExperts, expected_moe_layer(program));
  }
  program.ops = std::move(ops);
  return program;
}

std::string subject(const Exchange& exchange) {
  return fmt::format("{} {}{}", exchange.layer, phase_name(exchange.phase),
                     exchange.direction ? direction_name(*exchange.direction) : "");
}

void write(nlohmann::json& object, const Exchange& exchange) {
  object["layer"] = exchange.layer;
  object["phase"] = phase_name(exchange.phase);
  if (exchange.direction) object["direction"] = direction_name(*exchange.direction);
  object["route"] = route_name(exchange.route);
  if (exchange.route == Route::pairwise) object["ranks_per_group"] = exchange.ranks_per_group;
}

Exchange Exchange::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  Exchange exchange;
  exchange.layer = read_layer(input);
  exchange.phase = read_phase(input);
  if (input.has("direction")) {
    exchange.direction = read_direction(input);
  }
  exchange.route = static_cast<Route>(
      input.member("route", "a route").one_of({kRoutes[0], kRoutes[1], kRoutes[2], kRoutes[3]}));
  if (exchange.route == Route::pairwise) {
    exchange.ranks_per_group = static_cast<int>(input.integer("ranks_per_group", 1, most));
  }
  return exchange;
}

}  // namespace moe
