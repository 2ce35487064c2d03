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

#include "moe/input/value.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 2> kOrders{"gpipe", "one_f_one_b"};

/// What a stage does with one micro-batch in one phase.
struct Task {
  Phase phase = Phase::forward;
  int micro_batch = 0;
  friend auto operator<=>(const Task&, const Task&) = default;
};

int units_of(Phase phase) { return phase == Phase::forward ? 1 : 2; }

/// One stage after another, in its own order.
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

/// Ends of the tasks that have been placed, by stage; 0 where they have not.
class Ends {
 public:
  Ends(int stages, int micro_batches)
      : ends_(static_cast<std::size_t>(stages * micro_batches * 2)),
        micro_batches_(micro_batches) {}
  int& of(int stage, Task task) {
    const int phase = task.phase == Phase::forward ? 0 : 1;
    return ends_[static_cast<std::size_t>((stage * micro_batches_ + task.micro_batch) * 2 + phase)];
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
  std::vector<int> idle(queues.size(), 0);  // from when on
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

}  // namespace

Program apply(Program program, const OrderMicroBatches& ordering) {
  if (program.micro_batches < 2) {
    throw std::invalid_argument(fmt::format(
        "order_micro_batches: {}: there is one micro-batch: expected micro_batches of at "
        "least 2 in the model's [training]",
        kOrders[static_cast<std::size_t>(ordering.order)]));
  }
  int last = 0;
  for (const Op& op : program.ops) {
    if (comes_once(op)) continue;
    if (op.micro_batch < last) {
      throw std::invalid_argument("order_micro_batches: they are ordered already");
    }
    last = op.micro_batch;
  }
  std::vector<Op> ordered, update;
  // By stage, micro-batch and phase, in the order that each has.
  const auto place = [&](int stage, Task task) {
    return static_cast<std::size_t>((stage * program.micro_batches + task.micro_batch) * 2 +
                                    (task.phase == Phase::forward ? 0 : 1));
  };
  std::vector<std::vector<Op>> tasks(
      static_cast<std::size_t>(program.stages * program.micro_batches * 2));
  for (Op& op : program.ops) {
    auto& where = comes_once(op) ? update : tasks[place(op.stage, {op.phase, op.micro_batch})];
    where.push_back(std::move(op));
  }
  for (const auto& [stage, task] : in_time(ordering.order, program.stages, program.micro_batches)) {
    std::vector<Op>& ops = tasks[place(stage, task)];
    std::move(ops.begin(), ops.end(), std::back_inserter(ordered));
  }
  std::move(update.begin(), update.end(), std::back_inserter(ordered));
  program.ops = std::move(ordered);
  validate(program);
  return program;
}

std::string subject(const OrderMicroBatches&) { return ""; }

void write(nlohmann::json& object, const OrderMicroBatches& ordering) {
  object["order"] = kOrders[static_cast<std::size_t>(ordering.order)];
}

OrderMicroBatches OrderMicroBatches::read(const InputObject& input) {
  return {static_cast<MicroBatchOrder>(
      input.member("order", "an order of micro-batches").one_of({kOrders[0], kOrders[1]}))};
}

}  // namespace moe
