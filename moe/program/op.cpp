#include "moe/program/op.h"

#include <array>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "moe/rows/row_layout.h"

namespace moe {
namespace {

template <std::size_t... index>
bool is_among(std::string_view name, std::index_sequence<index...>) {
  return ((std::variant_alternative_t<index, AnyOpKind>::facts.name == name) || ...);
}

/// What is true of every op of a kind, by the kind's index: read where a visit, which takes a second
/// to compile, would ask for no more than the type.
struct OfKind {
  const OpFacts* facts;
  bool exchanges_rows;
  bool moves_experts;
};
template <class... Kinds>
constexpr std::array<OfKind, sizeof...(Kinds)> of_each(const std::variant<Kinds...>*) {
  return {OfKind{&Kinds::facts, ExchangesRows<Kinds>, MovesExperts<Kinds>}...};
}
constexpr auto kOfKinds = of_each(static_cast<const AnyOpKind*>(nullptr));

const OfKind& of_kind(const Op& op) { return kOfKinds[op.kind.index()]; }

}  // namespace

OpKind::OpKind() = default;
OpKind::OpKind(const OpKind&) = default;
OpKind::OpKind(OpKind&&) noexcept = default;
OpKind::~OpKind() = default;
// Assignments of the variant itself would take seconds to compile: a case for each alternative.
OpKind& OpKind::operator=(const OpKind& other) { return *this = OpKind(other); }
OpKind& OpKind::operator=(OpKind&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}

template <class Kind>
void OpKind::become(Kind kind) {
  emplace<Kind>(std::move(kind));
}

namespace {

/// Instantiates become() for every alternative, so that other sources can link with it.
template <class... Kinds>
constexpr std::tuple<void (OpKind::*)(Kinds)...> all_become(const std::variant<Kinds...>*) {
  return {&OpKind::become<Kinds>...};
}
[[gnu::used]] constexpr auto kAllBecome = all_become(static_cast<const AnyOpKind*>(nullptr));

}  // namespace

std::string_view activity_name(Activity activity) {
  switch (activity) {
    case Activity::computation:
      return "computation";
    case Activity::communication:
      return "communication";
    case Activity::copy:
      return "copy";
  }
  throw std::logic_error("activity_name: no such activity");
}

const OpFacts& facts_of(const Op& op) { return *of_kind(op).facts; }

std::string_view kind_name(const Op& op) { return facts_of(op).name; }

std::optional<GroupKind> group_of(const Op& op) {
  return std::visit(
      [](const auto& kind) -> std::optional<GroupKind> {
        if constexpr (Communicates<std::decay_t<decltype(kind)>>) {
          return kind.group;
        } else {
          return std::nullopt;
        }
      },
      op.kind);
}

bool is_communication(const Op& op) { return facts_of(op).activity == Activity::communication; }

bool reduces_gradients(const Op& op) {
  return std::holds_alternative<AllReduce>(op.kind) ||
         std::holds_alternative<ReduceShares>(op.kind);
}

bool brings_gradients_home(const Op& op) {
  return std::holds_alternative<ReturnGradients>(op.kind) ||
         std::holds_alternative<AddReturned>(op.kind);
}

bool comes_once(const Op& op) {
  return op.phase == Phase::update || reduces_gradients(op) ||
         (brings_gradients_home(op) && placed_by(op)->late.slots_of == SlotsOf::each_layer);
}

bool runs_in(const Op& op, int stage) {
  const auto* passes = std::get_if<PassOn>(&op.kind);
  const auto* tied = std::get_if<ReduceTied>(&op.kind);
  return op.stage == stage || (passes != nullptr && passes->to_stage == stage) ||
         (tied != nullptr && tied->last_stage == stage) ||
         std::holds_alternative<ReduceNorm>(op.kind);
}
RoutedLayer routed_layer(const Op& op) { return {op.layer, op.micro_batch, op.part.index}; }

Slice share_of(const Op& op) {
  return {op.part.index * op.chunk.count + op.chunk.index, op.part.count * op.chunk.count};
}

bool is_all_to_all(const Op& op) {
  return std::holds_alternative<AllToAll>(op.kind) ||
         std::holds_alternative<ExchangeInNode>(op.kind) ||
         std::holds_alternative<ExchangeAcrossNodes>(op.kind) ||
         std::holds_alternative<ExchangeStep>(op.kind);
}

std::optional<Direction> direction_of(const Op& op) {
  // How far rows of a kind have come on their way to the experts: 0 at the source, 2 at the
  // experts.
  const auto way = [](Rows rows) {
    return rows == Rows::received ? 2 : rows == Rows::sent ? 0 : 1;
  };
  const auto of_leg = [&](Rows from, Rows to) {
    const bool forth =
        way(from) < way(to) || (from == Rows::leader_sent && to == Rows::leader_received);
    return forth ? Direction::dispatch : Direction::combine;
  };
  if (const auto* whole = std::get_if<AllToAll>(&op.kind)) return whole->direction;
  if (const auto* step = std::get_if<ExchangeStep>(&op.kind)) return step->direction;
  if (const auto* leg = std::get_if<ExchangeInNode>(&op.kind)) return of_leg(leg->from, leg->to);
  if (const auto* leg = std::get_if<ExchangeAcrossNodes>(&op.kind)) {
    return of_leg(leg->from, leg->to);
  }
  return std::nullopt;
}

bool exchanges_rows(const Op& op) { return of_kind(op).exchanges_rows; }

bool moves_experts(const Op& op) { return of_kind(op).moves_experts; }

bool balances_rows(const Op& op) {
  const auto* sent = std::get_if<SendExperts>(&op.kind);
  return sent != nullptr && shares_rows_out(sent->placement);
}

const ExpertPlacement* placed_by(const Op& op) {
  return std::visit(
      [](const auto& kind) -> const ExpertPlacement* {
        if constexpr (std::is_base_of_v<PlacedExperts, std::decay_t<decltype(kind)>>) {
          return &kind.placement;
        } else {
          return nullptr;
        }
      },
      op.kind);
}

bool depends_on_counts(const Op& op) {
  const ExpertPlacement* placement = placed_by(op);
  return placement != nullptr && is_late(*placement);
}

bool binds_routing(const Op& op) { return std::holds_alternative<ExchangeCounts>(op.kind); }

const ExchangeCounts* counts_of(const Op& op) {
  return std::visit(
      [](const auto& kind) -> const ExchangeCounts* {
        if constexpr (std::is_base_of_v<ExchangeCounts, std::decay_t<decltype(kind)>>) {
          return &kind;
        } else {
          return nullptr;
        }
      },
      op.kind);
}
ExchangeCounts* counts_of(Op& op) {
  return const_cast<ExchangeCounts*>(counts_of(std::as_const(op)));
}

bool is_kind_name(std::string_view name) {
  return is_among(name, std::make_index_sequence<std::variant_size_v<AnyOpKind>>());
}

Op accumulating(Op op) {
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.accumulate; }) {
          if (std::exchange(kind.accumulate, true)) return;
          for (std::size_t i = 0; i < op.writes.size(); ++i) {
            if (kind.facts.writes.at(i) == Cut::sum) op.reads.push_back(op.writes[i]);
          }
        }
      },
      op.kind);
  return op;
}

std::string_view stream_name(Stream stream) {
  switch (stream) {
    case Stream::compute:
      return "compute";
    case Stream::inter_node:
      return "inter_node";
    case Stream::intra_node:
      return "intra_node";
    case Stream::copy:
      return "copy";
    case Stream::host:
      return "host";
  }
  throw std::logic_error("stream_name: no such stream");
}

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  throw std::logic_error("phase_name: no such phase");
}

}  // namespace moe
