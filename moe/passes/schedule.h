#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "db/records.h"
#include "moe/passes/assign_stream.h"
#include "moe/passes/compress_exchange.h"
#include "moe/passes/exchange.h"
#include "moe/passes/hoist_transfer.h"
#include "moe/passes/order_micro_batches.h"
#include "moe/passes/partition_range.h"
#include "moe/passes/pipeline_split.h"
#include "moe/passes/place_allreduce.h"
#include "moe/passes/place_blocks.h"
#include "moe/passes/place_experts.h"
#include "moe/passes/place_weight_gradient.h"
#include "moe/passes/replicate_experts.h"
#include "moe/passes/restore_activation.h"
#include "moe/passes/restore_block.h"
#include "moe/passes/shard_optimizer.h"
#include "moe/passes/slice_allreduce.h"
#include "moe/program/program.h"

namespace moe {

/// One decision of a Schedule. Each is defined in a file of moe/passes with its fields, its JSON,
/// its rewrite and its refusals. The alternatives stand in the order in which they are applied:
/// first those that place blocks and experts, then those that make ops, then those that cut ops, then those
/// that move ops.
using AnyDecision =
    std::variant<PlaceBlocks, PlaceExperts, ReplicateExperts, CompressExchange, Exchange,
                 PartitionRange, PipelineSplit, RestoreActivation, RestoreBlock, ShardOptimizer,
                 SliceAllReduce, OrderMicroBatches, PlaceWeightGradient, HoistTransfer,
                 PlaceAllReduce, StreamAssignment>;

/// One alternative of AnyDecision. Copied, moved, destroyed and compared in schedule.cpp only, as
/// OpKind is in op.cpp.
struct Decision : AnyDecision {
  using AnyDecision::AnyDecision;
  Decision();
  Decision(const Decision&);
  Decision(Decision&&) noexcept;
  Decision& operator=(const Decision&);
  Decision& operator=(Decision&&) noexcept;
  ~Decision();
  friend bool operator==(const Decision& a, const Decision& b);
  friend bool operator<(const Decision& a, const Decision& b);
};

/// Every decision has these, besides its fields. The compiler names the decision that lacks one
/// as `D`.
template <class D>
constexpr bool describes_itself_as_decision() {
  static_assert(std::totally_ordered<D>, "this decision has no order: default operator<=>");
  static_assert(
      requires {
        { D::name } -> std::convertible_to<std::string_view>;
      },
      "this decision lacks its name");
  static_assert(
      requires {
        { D::description } -> std::convertible_to<std::string_view>;
      },
      "this decision lacks its description, one line for lists");
  static_assert(
      requires {
        { D::changes_results } -> std::convertible_to<bool>;
      },
      "this decision does not say whether losses and gradients change");
  static_assert(
      requires(const D& decision, Program program) {
        { apply(program, decision) } -> std::same_as<Program>;
      },
      "this decision lacks its rewrite, Program apply(Program, const D&)");
  static_assert(
      requires(const D& decision, nlohmann::json& object) {
        { write(object, decision) } -> std::same_as<void>;
      },
      "this decision lacks write(json&, const D&), which adds its fields");
  static_assert(
      requires(const D& decision) {
        { subject(decision) } -> std::same_as<std::string>;
      },
      "this decision lacks subject(const D&): two of one subject contradict each other");
  static_assert(
      requires(const InputObject& input) {
        { D::read(input) } -> std::same_as<D>;
      },
      "this decision lacks static D read(const InputObject&)");
  return true;
}
template <class Variant>
inline constexpr bool all_are_decisions = false;
template <class... Ds>
inline constexpr bool all_are_decisions<std::variant<Ds...>> =
    (describes_itself_as_decision<Ds>() && ...);
static_assert(all_are_decisions<AnyDecision>);

/// A kind of decision, for lists.
struct DecisionKind {
  std::string_view name;
  std::string_view description;
  bool changes_results = false;
};
/// Every kind, in the order in which they are applied.
std::vector<DecisionKind> decision_kinds();

/// The decisions by which `apply` turns a Program into another Program. The empty Schedule leaves
/// the Program as it is: all ops on one stream, nothing overlapped.
struct Schedule {
  std::string planner;
  std::vector<Decision> decisions;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The same decisions in the order in which they are applied, those of one kind sorted by their
/// fields.
Schedule canonical(Schedule schedule);

/// The kind of a decision and what it is about. Two decisions with the same subject contradict each
/// other.
std::pair<std::size_t, std::string> subject_of(const Decision& decision);

/// The decisions of one kind, in the schedule's order.
template <class D>
std::vector<D> decisions_of(const Schedule& schedule) {
  std::vector<D> found;
  for (const Decision& decision : schedule.decisions) {
    if (const auto* one = std::get_if<D>(&decision)) found.push_back(*one);
  }
  return found;
}

/// Appends decisions to the schedule.
template <class D>
void append(Schedule& schedule, std::vector<D> decisions) {
  std::move(decisions.begin(), decisions.end(), std::back_inserter(schedule.decisions));
}

/// The names of the decisions that change losses and gradients, separated by commas; "" where there
/// are none.
std::string changes_results(const Schedule& schedule);

/// Applies each decision by its rewrite, in canonical order, and calls `after` with the Program
/// after each. Throws Refusal with the reason where a decision is not legal for this
/// Program, and as validate(). A single decision's `apply` leaves validate() to this one.
Program apply(Program program, const Schedule& schedule,
              const std::function<void(const Decision&, const Program&)>& after = {});

/// True where `apply` refuses none of the decisions.
bool is_legal(const Program& program, const Schedule& schedule);

/// Throws Refusal "FILE: ..." where the schedule is not legal for this Program. `file` is where
/// the schedule came from; empty where it came from no file.
void check_applies(const Program& program, const Schedule& schedule, const std::string& file);

/// {"chunks": 4, "decision": "pipeline_split", "layer": 1, "phase": "forward"}
std::string to_json(const Decision& decision);
/// Canonical JSON: equal schedules print alike.
std::string to_json(const Schedule& schedule);
/// The identity of a schedule: its canonical JSON without the planner's name.
std::string decisions_json(const Schedule& schedule);
/// Throws InputError "NAME:LINE: ..." for a field that is unknown, missing, given twice or out of
/// range.
Schedule schedule_from_json(std::string_view json, std::string name = "schedule");
/// Reads a schedule from a JSON file. Throws as schedule_from_json.
Schedule load_schedule(const std::string& path);

/// A schedule as a row of the database, its decisions in canonical order.
db::Schedule schedule_row(const Schedule& schedule);

}  // namespace moe
