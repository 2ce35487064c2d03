#include "moe/passes/order_micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/ops_of_tasks.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 6> kOrders{
    "gpipe", "one_f_one_b", "interleaved", "zero_bubble", "interleaved_stages", "in_groups"};
constexpr std::int64_t kLongestTime = 1'000'000'000;

[[noreturn]] void refuse_order(MicroBatchOrder order, std::string_view why, std::string way_out) {
  throw Refusal(fmt::format("order_micro_batches: {}", kOrders[static_cast<std::size_t>(order)]),
                why, std::move(way_out));
}

void check_chunks(const OrderMicroBatches& ordering, const Program& program,
                  const StageChunks& chunks) {
  if (ordering.order != MicroBatchOrder::interleaved_stages) {
    if (chunks.count <= program.stages) return;
    if (chunks.is_v && ordering.order == MicroBatchOrder::zero_bubble) return;
    refuse_order(
        ordering.order,
        fmt::format("{} stages have {} chunks of blocks", program.stages, chunks.count),
        "expected \"interleaved_stages\", \"zero_bubble\" of stages in a V as 0, 1, 1, 0, or "
        "place_blocks with one chunk for each stage");
  }
  if (program.stages < 2) {
    refuse_order(ordering.order, "there is one pipeline stage",
                 "expected a layout with pp of at least 2");
  }
  if (!chunks.in_turn) {
    refuse_order(ordering.order, "stages do not have as many chunks of blocks in turn",
                 "expected place_blocks with stages as 0, 1, 0, 1");
  }
  if (program.micro_batches % program.stages != 0) {
    refuse_order(
        ordering.order,
        fmt::format("{} micro-batches for {} stages", program.micro_batches, program.stages),
        "expected a multiple of the stages");
  }
}

void check_order(const OrderMicroBatches& ordering, const Program& program,
                 const StageChunks& chunks) {
  const bool is_on_one_stage = ordering.order == MicroBatchOrder::interleaved ||
                               ordering.order == MicroBatchOrder::in_groups;
  if (program.micro_batches < 2) {
    refuse_order(ordering.order, "there is one micro-batch",
                 "expected micro_batches of at least 2 in the model's [training]");
  }
  if (is_on_one_stage && program.stages > 1) {
    refuse_order(ordering.order, fmt::format("there are {} pipeline stages", program.stages),
                 "expected a layout with pp=1, or \"one_f_one_b\"");
  }
  if (ordering.group_size > program.micro_batches) {
    refuse_order(
        ordering.order,
        fmt::format("groups of {} of {} micro-batches", ordering.group_size, program.micro_batches),
        fmt::format("expected group_size of at most {}", program.micro_batches));
  }
  if (!ordering.times.empty() && std::ssize(ordering.times) != program.stages) {
    refuse_order(
        ordering.order,
        fmt::format("times of {} stages, but there are {}", ordering.times.size(), program.stages),
        "expected one entry of times for each stage");
  }
  check_chunks(ordering, program, chunks);
  int last = 0;
  for (const Op& op : program.ops) {
    if (comes_once(op)) continue;
    if (op.micro_batch < last) {
      refuse_order(ordering.order, "they are ordered already", "expected one order");
    }
    last = op.micro_batch;
  }
}

/// The times that the decision states, or one unit for each pass through a chunk; the last stage of a
/// V has two in one.
PipelineTimes times_of(const OrderMicroBatches& ordering, int stages, ChunkPath path) {
  PipelineTimes times{ordering.times, ordering.pass_on_time, path};
  if (!times.stages.empty()) return times;
  times.stages.resize(static_cast<std::size_t>(stages));
  if (path == ChunkPath::v) times.stages.back() = {2, 2, 2};
  return times;
}

StageOrders orders_of(const OrderMicroBatches& ordering, const PipelineTimes& times, int stages,
                      int chunks, int micro_batches) {
  switch (ordering.order) {
    case MicroBatchOrder::gpipe:
      return gpipe_orders(stages, micro_batches);
    case MicroBatchOrder::one_f_one_b:
      return one_f_one_b_orders(stages, micro_batches);
    case MicroBatchOrder::zero_bubble:
      return zero_bubble_orders(stages, micro_batches, times,
                                ordering.in_flight > 0 ? ordering.in_flight : stages);
    case MicroBatchOrder::interleaved_stages:
      return interleaved_orders(stages, chunks, micro_batches);
    case MicroBatchOrder::interleaved:
    case MicroBatchOrder::in_groups:
      break;
  }
  throw std::logic_error("order_micro_batches: passes in turn have one stage");
}

void append(Ops& ops, Ops more) { std::move(more.begin(), more.end(), std::back_inserter(ops)); }

/// Cuts the ops into stretches that end with an exchange of routed rows, or with several in a row.
std::vector<Ops> turns_of(Ops ops) {
  std::vector<Ops> turns(1);
  for (Op& op : ops) {
    if (!turns.back().empty() && exchanges_rows(turns.back().back()) && !exchanges_rows(op)) {
      turns.emplace_back();
    }
    turns.back().push_back(std::move(op));
  }
  return turns;
}

/// Merges the stretches of the passes, those of each pass spread evenly. Where several have come as
/// far the first of them goes on.
Ops in_turns(std::vector<Ops> passes) {
  struct Turns {
    std::vector<Ops> all;
    std::size_t done = 0;
    bool is_behind(const Turns& other) const {
      return done * other.all.size() < other.done * all.size();
    }
  };
  std::vector<Turns> of_passes;
  for (Ops& pass : passes) of_passes.push_back({turns_of(std::move(pass))});
  Ops ops;
  while (true) {
    Turns& next = *std::ranges::min_element(of_passes, &Turns::is_behind);
    if (next.done == next.all.size()) return ops;
    append(ops, std::move(next.all[next.done++]));
  }
}

Ops in_turns(OpsOfTasks& ops, const std::vector<StageTask>& tasks) {
  std::vector<Ops> passes;
  for (const StageTask& task : tasks) passes.push_back(ops.take(0, task));
  return in_turns(std::move(passes));
}

/// The backward pass of each micro-batch in turns with the forward pass of the next.
Ops interleaved(OpsOfTasks& ops) {
  const int last = ops.micro_batches() - 1;
  Ops ordered = ops.take(0, {Pass::forward, 0});
  for (int one = 0; one < last; ++one) {
    append(ordered, in_turns(ops, {{Pass::backward, one}, {Pass::forward, one + 1}}));
  }
  append(ordered, ops.take(0, {Pass::backward, last}));
  return ordered;
}

/// `size` micro-batches at a time; 0: all.
Ops in_groups(OpsOfTasks& ops, int size) {
  const int all = ops.micro_batches(), step = size > 0 ? size : all;
  Ops ordered;
  for (int first = 0; first < all; first += step) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      std::vector<StageTask> group;
      for (int one = first; one < std::min(first + step, all); ++one) group.push_back({pass, one});
      append(ordered, in_turns(ops, group));
    }
  }
  return ordered;
}

/// The tasks of all stages, in the order in which they would begin.
Ops through_stages(OpsOfTasks& ops, const OrderMicroBatches& ordering, const StageChunks& chunks,
                   int stages) {
  const PipelineTimes times = times_of(ordering, stages, chunks.path());
  const StageOrders orders =
      orders_of(ordering, times, stages, chunks.count / stages, ops.micro_batches());
  Ops ordered;
  for (const TimedTask& one : in_time(orders, times))
    append(ordered, ops.take(one.stage, one.task));
  return ordered;
}

}  // namespace

Program apply(Program program, const OrderMicroBatches& ordering) {
  const StageChunks chunks(program);
  check_order(ordering, program, chunks);
  OpsOfTasks ops(program, chunks, ordering.order == MicroBatchOrder::zero_bubble);
  switch (ordering.order) {
    case MicroBatchOrder::interleaved:
      program.ops = interleaved(ops);
      break;
    case MicroBatchOrder::in_groups:
      program.ops = in_groups(ops, ordering.group_size);
      break;
    case MicroBatchOrder::gpipe:
    case MicroBatchOrder::one_f_one_b:
    case MicroBatchOrder::zero_bubble:
    case MicroBatchOrder::interleaved_stages:
      program.ops = through_stages(ops, ordering, chunks, program.stages);
      break;
  }
  append(program.ops, ops.take_once());
  return program;
}

std::string subject(const OrderMicroBatches&) { return ""; }

void write(nlohmann::json& object, const OrderMicroBatches& ordering) {
  object["order"] = kOrders[static_cast<std::size_t>(ordering.order)];
  if (ordering.in_flight > 0) object["in_flight"] = ordering.in_flight;
  if (ordering.group_size > 0) object["group_size"] = ordering.group_size;
  if (ordering.pass_on_time > 0) object["pass_on_time"] = ordering.pass_on_time;
  for (const PassTimes& times : ordering.times) {
    object["times"].push_back({{"forward", times.forward},
                               {"backward", times.backward},
                               {"weight_gradient", times.weight_gradient}});
  }
}

OrderMicroBatches OrderMicroBatches::read(const InputObject& input) {
  OrderMicroBatches ordering{static_cast<MicroBatchOrder>(
      input.member("order", "an order of micro-batches").one_of({kOrders.begin(), kOrders.end()}))};
  constexpr int most = std::numeric_limits<int>::max();
  if (ordering.order == MicroBatchOrder::in_groups && input.has("group_size")) {
    ordering.group_size = static_cast<int>(input.integer("group_size", 1, most));
  }
  if (ordering.order == MicroBatchOrder::interleaved ||
      ordering.order == MicroBatchOrder::in_groups) {
    return ordering;
  }
  if (ordering.order == MicroBatchOrder::zero_bubble && input.has("in_flight")) {
    ordering.in_flight = static_cast<int>(input.integer("in_flight", 1, most));
  }
  if (input.has("pass_on_time")) {
    ordering.pass_on_time = input.integer("pass_on_time", 0, kLongestTime);
  }
  if (!input.has("times")) return ordering;
  for (const InputValue& entry : input.list("times", "a list of times, one for each stage")) {
    const InputObject times = entry.object("the times of a stage");
    ordering.times.push_back({times.integer("forward", 0, kLongestTime),
                              times.integer("backward", 0, kLongestTime),
                              times.integer("weight_gradient", 0, kLongestTime)});
  }
  return ordering;
}

}  // namespace moe
