#include "moe/passes/order_micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/place_blocks.h"
#include "moe/passes/separate_weight_gradients.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 6> kOrders{
    "gpipe", "one_f_one_b", "interleaved", "zero_bubble", "interleaved_stages", "in_groups"};
constexpr std::int64_t kLongestTime = 1'000'000'000;

[[noreturn]] void refuse_order(MicroBatchOrder order, std::string_view why, std::string way_out) {
  throw Refusal(fmt::format("order_micro_batches: {}", kOrders[static_cast<std::size_t>(order)]),
                why, std::move(way_out));
}

/// The chunks of blocks that stages have.
struct Chunks {
  std::vector<int> of_block;  ///< [block]: among the chunks of all stages, in the order of blocks
  int count = 0;              ///< of all stages
  bool in_turn = true;        ///< every stage has as many, stage after stage
  bool is_v = false;          ///< they are as ChunkPath::v says

  explicit Chunks(const Program& program) {
    const std::vector<int> stages = stages_of_blocks(program);
    of_block = chunks_of_blocks(stages);
    count = of_block.empty() ? 1 : of_block.back() + 1;
    is_v = program.stages > 1 && count == 2 * program.stages - 1;
    for (std::size_t block = 0; block < stages.size(); ++block) {
      const int chunk = of_block[block];
      in_turn &= stages[block] == chunk % program.stages;
      is_v &= stages[block] == std::min(chunk, count - 1 - chunk);
    }
    in_turn &= count % program.stages == 0;
  }

  ChunkPath path() const { return is_v ? ChunkPath::v : ChunkPath::in_turn; }
  /// `behind_blocks`: in forward an op of the head, in backward one of the embedding.
  int of(const Op& op, bool behind_blocks) const {
    if (op.layer < 0) return behind_blocks == (op.phase == Phase::forward) ? count - 1 : 0;
    const int chunk = of_block.at(static_cast<std::size_t>(op.layer));
    if (!std::holds_alternative<PassOn>(op.kind)) return chunk;
    // It has the block that the rows come to, and the stage that they come from.
    return op.phase == Phase::forward ? chunk - 1 : chunk + 1;
  }
};

void check_chunks(const OrderMicroBatches& ordering, const Program& program, const Chunks& chunks) {
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

using Ops = std::vector<Op>;

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

}  // namespace

Program apply(Program program, const OrderMicroBatches& ordering) {
  const bool interleaved = ordering.order == MicroBatchOrder::interleaved,
             in_groups = ordering.order == MicroBatchOrder::in_groups;
  if (program.micro_batches < 2) {
    refuse_order(ordering.order, "there is one micro-batch",
                 "expected micro_batches of at least 2 in the model's [training]");
  }
  if ((interleaved || in_groups) && program.stages > 1) {
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
  const Chunks chunks(program);
  check_chunks(ordering, program, chunks);
  int last = 0;
  for (const Op& op : program.ops) {
    if (comes_once(op)) continue;
    if (op.micro_batch < last) {
      refuse_order(ordering.order, "they are ordered already", "expected one order");
    }
    last = op.micro_batch;
  }
  Ops ordered, update;
  // By chunk, micro-batch and pass, each in its own order.
  const auto place = [&](int chunk, Pass pass, int micro_batch) {
    return static_cast<std::size_t>((chunk * program.micro_batches + micro_batch) * 3 +
                                    static_cast<int>(pass));
  };
  std::vector<bool> apart(program.ops.size(), false);
  if (ordering.order == MicroBatchOrder::zero_bubble) apart = separate_weight_gradients(program);
  std::vector<Ops> tasks(static_cast<std::size_t>(chunks.count * program.micro_batches * 3));
  std::set<std::pair<int, Phase>> came_to_blocks;  // of micro-batches
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    // Of an embedding that is cut into parts, the second stands behind the first block's first part.
    const bool is_behind = op.phase == Phase::forward
                               ? op.layer + 1 == static_cast<int>(chunks.of_block.size())
                               : op.layer >= 0;
    if (is_behind) came_to_blocks.emplace(op.micro_batch, op.phase);
    const bool behind_blocks = came_to_blocks.contains({op.micro_batch, op.phase});
    const Pass pass = apart[i]                     ? Pass::weight_gradient
                      : op.phase == Phase::forward ? Pass::forward
                                                   : Pass::backward;
    auto& where =
        comes_once(op) ? update : tasks[place(chunks.of(op, behind_blocks), pass, op.micro_batch)];
    where.push_back(std::move(op));
  }
  const auto take = [&](int stage, StageTask task) {
    const int chunk = place_of_chunk(stage, task.chunk, program.stages, chunks.path());
    return std::move(tasks[place(chunk, task.pass, task.micro_batch)]);
  };
  const auto append_in_turns = [&](const std::vector<StageTask>& several) {
    std::vector<Ops> passes;
    for (const StageTask& task : several) passes.push_back(take(0, task));
    append(ordered, in_turns(std::move(passes)));
  };
  if (interleaved) {
    append(ordered, take(0, {Pass::forward, 0}));
    for (int next = 1; next < program.micro_batches; ++next) {
      append_in_turns({{Pass::backward, next - 1}, {Pass::forward, next}});
    }
    append(ordered, take(0, {Pass::backward, program.micro_batches - 1}));
  } else if (in_groups) {
    const int size = ordering.group_size > 0 ? ordering.group_size : program.micro_batches;
    for (int first = 0; first < program.micro_batches; first += size) {
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        std::vector<StageTask> group;
        for (int one = first; one < std::min(first + size, program.micro_batches); ++one) {
          group.push_back({pass, one});
        }
        append_in_turns(group);
      }
    }
  } else {
    const PipelineTimes times = times_of(ordering, program.stages, chunks.path());
    const StageOrders orders = orders_of(ordering, times, program.stages,
                                         chunks.count / program.stages, program.micro_batches);
    for (const TimedTask& one : in_time(orders, times)) {
      append(ordered, take(one.stage, one.task));
    }
  }
  append(ordered, std::move(update));
  program.ops = std::move(ordered);
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
