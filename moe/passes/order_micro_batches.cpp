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

namespace moe {
namespace {

constexpr std::array<std::string_view, 3> kOrders{"gpipe", "one_f_one_b", "interleaved"};

[[noreturn]] void refuse_order(MicroBatchOrder order, std::string_view why, std::string way_out) {
  throw Refusal(fmt::format("order_micro_batches: {}", kOrders[static_cast<std::size_t>(order)]),
                why, std::move(way_out));
}

/// The work of a stage on one micro-batch in one phase.
struct Task {
  Phase phase = Phase::forward;
  int micro_batch = 0;
};

int units_of(Phase phase) { return phase == Phase::forward ? 1 : 2; }

/// The tasks of every stage, in the order of that stage.
std::vector<Task> tasks_of_stage(MicroBatchOrder order, int stage, int stages, int micro_batches) {
  const int ahead =
      order == MicroBatchOrder::gpipe ? micro_batches : std::min(stages - stage, micro_batches);
  std::vector<Task> tasks;
  int forward = 0;
  while (forward < ahead) tasks.push_back({Phase::forward, forward++});
  for (int backward = 0; backward < micro_batches; ++backward) {
    tasks.push_back({Phase::backward, backward});
    if (forward < micro_batches) tasks.push_back({Phase::forward, forward++});
  }
  return tasks;
}

/// [stage]: the end of every task that has been placed; 0 where it has not.
class Ends {
 public:
  Ends(int stages, int micro_batches)
      : ends_(static_cast<std::size_t>(stages * micro_batches * 2)),
        micro_batches_(micro_batches) {}
  int& of(int stage, Task task) {
    const int phase = task.phase == Phase::forward ? 0 : 1;
    return ends_[(stage * micro_batches_ + task.micro_batch) * 2 + phase];
  }

 private:
  std::vector<int> ends_;
  int micro_batches_;
};

/// All tasks in the order in which they begin, as (stage, task).
std::vector<std::pair<int, Task>> in_time(MicroBatchOrder order, int stages, int micro_batches) {
  std::vector<std::vector<Task>> queues;
  for (int stage = 0; stage < stages; ++stage) {
    queues.push_back(tasks_of_stage(order, stage, stages, micro_batches));
  }
  Ends ends(stages, micro_batches);
  std::vector<std::size_t> next(queues.size(), 0);
  std::vector<int> idle(queues.size(), 0);  // [stage]: when it becomes idle
  std::vector<std::pair<int, Task>> result;
  const auto total = queues.size() * queues.front().size();
  while (result.size() < total) {
    constexpr int kNever = std::numeric_limits<int>::max();
    int best = -1, begin = kNever;
    for (int stage = 0; stage < stages; ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      if (next[s] == queues[s].size()) continue;
      const Task task = queues[s][next[s]];
      const int from = task.phase == Phase::forward ? stage - 1 : stage + 1;
      const bool needs = from >= 0 && from < stages;
      const int arrived = needs ? ends.of(from, task) : 0;
      if (needs && arrived == 0) continue;
      if (const int ready = std::max(idle[s], arrived); ready < begin) {
        best = stage;
        begin = ready;
      }
    }
    if (best < 0) throw std::logic_error("order_micro_batches: stages wait for each other");
    const auto s = static_cast<std::size_t>(best);
    const Task task = queues[s][next[s]++];
    idle[s] = ends.of(best, task) = begin + units_of(task.phase);
    result.emplace_back(best, task);
  }
  return result;
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

/// Merges the stretches of both passes, those of each pass spread evenly.
Ops in_turns(Ops backward, Ops forward) {
  std::vector<Ops> first = turns_of(std::move(backward)), second = turns_of(std::move(forward));
  Ops ops;
  for (std::size_t i = 0, j = 0; i < first.size() || j < second.size();) {
    if (i < first.size() && i * second.size() <= j * first.size()) {
      append(ops, std::move(first[i++]));
    } else {
      append(ops, std::move(second[j++]));
    }
  }
  return ops;
}

}  // namespace

Program apply(Program program, const OrderMicroBatches& ordering) {
  const bool interleaved = ordering.order == MicroBatchOrder::interleaved;
  if (program.micro_batches < 2) {
    refuse_order(ordering.order, "there is one micro-batch",
                 "expected micro_batches of at least 2 in the model's [training]");
  }
  if (interleaved && program.stages > 1) {
    refuse_order(ordering.order, fmt::format("there are {} pipeline stages", program.stages),
                 "expected a layout with pp=1, or \"one_f_one_b\"");
  }
  int last = 0;
  for (const Op& op : program.ops) {
    if (comes_once(op)) continue;
    if (op.micro_batch < last) {
      refuse_order(ordering.order, "they are ordered already", "expected one order");
    }
    last = op.micro_batch;
  }
  Ops ordered, update;
  // By stage, micro-batch and phase, each in its own order.
  const auto place = [&](int stage, Task task) {
    return static_cast<std::size_t>((stage * program.micro_batches + task.micro_batch) * 2 +
                                    (task.phase == Phase::forward ? 0 : 1));
  };
  std::vector<Ops> tasks(static_cast<std::size_t>(program.stages * program.micro_batches * 2));
  for (Op& op : program.ops) {
    auto& where = comes_once(op) ? update : tasks[place(op.stage, {op.phase, op.micro_batch})];
    where.push_back(std::move(op));
  }
  const auto take = [&](int stage, Task task) { return std::move(tasks[place(stage, task)]); };
  if (interleaved) {
    append(ordered, take(0, {Phase::forward, 0}));
    for (int next = 1; next < program.micro_batches; ++next) {
      append(ordered,
             in_turns(take(0, {Phase::backward, next - 1}), take(0, {Phase::forward, next})));
    }
    append(ordered, take(0, {Phase::backward, program.micro_batches - 1}));
  } else {
    for (const auto& [stage, task] :
         in_time(ordering.order, program.stages, program.micro_batches)) {
      append(ordered, take(stage, task));
    }
  }
  append(ordered, std::move(update));
  program.ops = std::move(ordered);
  return program;
}

std::string subject(const OrderMicroBatches&) { return ""; }

void write(nlohmann::json& object, const OrderMicroBatches& ordering) {
  object["order"] = kOrders[static_cast<std::size_t>(ordering.order)];
}

OrderMicroBatches OrderMicroBatches::read(const InputObject& input) {
  return {static_cast<MicroBatchOrder>(input.member("order", "an order of micro-batches")
                                           .one_of({kOrders[0], kOrders[1], kOrders[2]}))};
}

}  // namespace moe
