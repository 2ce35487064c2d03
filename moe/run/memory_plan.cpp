#include "moe/run/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace moe {
namespace {

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

/// For each op, how far every stream has certainly come when it starts: the position in stream s of
/// the last op known to be finished, plus one.
using Clock = std::array<int, kStreamCount>;

struct Order {
  std::vector<Clock> before;  ///< per op
  std::vector<int> position;  ///< of the op within its stream
};

Order order_of(const Program& program) {
  const auto waits = dependencies(program);
  Order order;
  Clock last_on{};  // op of each stream issued last, plus one
  std::array<int, kStreamCount> issued{};
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto stream = static_cast<std::size_t>(program.ops[i].stream);
    Clock clock{};
    const auto join = [&](int op) {
      for (int s = 0; s < kStreamCount; ++s) clock[s] = std::max(clock[s], order.before[op][s]);
      auto& own = clock[static_cast<std::size_t>(program.ops[op].stream)];
      own = std::max(own, order.position[op] + 1);
    };
    if (last_on[stream] > 0) join(last_on[stream] - 1);
    for (const int op : waits[i]) join(op);
    order.before.push_back(clock);
    order.position.push_back(issued[stream]++);
    last_on[stream] = static_cast<int>(i) + 1;
  }
  return order;
}

/// Memory given back: who may still touch it.
struct Block {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<int> users;  ///< ops
};

}  // namespace

struct MemoryPlan::State {
  std::vector<Tensor> tensors;
  std::vector<std::vector<TensorId>> first_used,
      last_used;                                 ///< by op: activations that begin and end there
  std::vector<std::vector<int>> users, writers;  ///< by tensor
  std::vector<Stream> stream_of;                 ///< by op
  Order order;

  std::vector<std::int64_t> offsets, sizes;  ///< by tensor
  std::int64_t persistent = 0;
  std::int64_t peak = 0;
  int peak_op = -1;
  int next_op = 0;
  std::vector<TensorId> live;
  std::vector<Block> released;  ///< do not overlap each other

  bool finished_before(int user, int op) const {
    return order.before[op][static_cast<std::size_t>(stream_of[user])] > order.position[user];
  }

  /// Whoever reads the new tensor waits for its writers, so it is enough that these come after all
  /// users of the old.
  bool may_reuse(const Block& block, TensorId tensor) const {
    return std::all_of(writers[tensor].begin(), writers[tensor].end(), [&](int writer) {
      return std::all_of(block.users.begin(), block.users.end(),
                         [&](int user) { return finished_before(user, writer); });
    });
  }

  void place(TensorId tensor, std::int64_t bytes) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const TensorId other : live)
      taken.emplace_back(offsets[other], offsets[other] + sizes[other]);
    for (const Block& block : released)
      if (!may_reuse(block, tensor)) taken.emplace_back(block.begin, block.end);
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = persistent;
    for (const auto& [begin, end] : taken) {
      if (offset + bytes <= begin) break;
      offset = std::max(offset, end);
    }
    offsets[tensor] = offset;
    sizes[tensor] = bytes;
    if (offset + bytes > peak) {
      peak = offset + bytes;
      peak_op = next_op;
    }
    live.push_back(tensor);
    cover(offset, offset + bytes);
  }

  /// Cuts [begin, end) out of the released blocks: who comes after the new tensor comes after them
  /// too.
  void cover(std::int64_t begin, std::int64_t end) {
    std::vector<Block> kept;
    for (Block& block : released) {
      if (block.begin < begin)
        kept.push_back({block.begin, std::min(block.end, begin), block.users});
      if (block.end > end) kept.push_back({std::max(block.begin, end), block.end, block.users});
    }
    released = std::move(kept);
  }
};

MemoryPlan::MemoryPlan(const Program& program) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.tensors = program.tensors;
  s.order = order_of(program);
  s.users.resize(program.tensors.size());
  s.writers.resize(program.tensors.size());
  s.first_used.resize(program.ops.size());
  s.last_used.resize(program.ops.size());
  s.offsets.assign(program.tensors.size(), -1);
  s.sizes.assign(program.tensors.size(), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    s.stream_of.push_back(program.ops[i].stream);
    for (const auto* uses : {&program.ops[i].reads, &program.ops[i].writes})
      for (const Use& use : *uses) {
        auto& users = s.users[use.tensor];
        if (users.empty() || users.back() != static_cast<int>(i))
          users.push_back(static_cast<int>(i));
      }
    for (const Use& use : program.ops[i].writes)
      s.writers[use.tensor].push_back(static_cast<int>(i));
  }
  for (TensorId t = 0; t < static_cast<TensorId>(program.tensors.size()); ++t)
    if (program.tensors[t].role == Role::activation && !s.users[t].empty()) {
      s.first_used[s.users[t].front()].push_back(t);
      s.last_used[s.users[t].back()].push_back(t);
    }
  // Role by role, so that the gradients of a block lie side by side and travel in one all-reduce.
  const Binding unbound;
  for (const Role role :
       {Role::input, Role::result, Role::parameter, Role::gradient, Role::optimizer_state})
    for (TensorId t = 0; t < static_cast<TensorId>(program.tensors.size()); ++t) {
      if (program.tensors[t].role != role) continue;
      s.offsets[t] = s.persistent;
      s.sizes[t] = aligned(allocated_bytes(program.tensors[t], unbound));
      s.persistent += s.sizes[t];
    }
  restart();
}

MemoryPlan::MemoryPlan(MemoryPlan&&) noexcept = default;
MemoryPlan& MemoryPlan::operator=(MemoryPlan&&) noexcept = default;
MemoryPlan::~MemoryPlan() = default;

int MemoryPlan::advance(const Binding& binding) {
  State& s = *state_;
  for (; s.next_op < static_cast<int>(s.first_used.size()); ++s.next_op) {
    const auto needs_routing = [&](TensorId t) {
      return s.tensors[t].rows == 0 && !is_bound(s.tensors[t], binding);
    };
    const auto& starting = s.first_used[s.next_op];
    if (std::any_of(starting.begin(), starting.end(), needs_routing)) break;
    for (const TensorId t : starting) s.place(t, aligned(allocated_bytes(s.tensors[t], binding)));
    for (const TensorId t : s.last_used[s.next_op]) {
      std::erase(s.live, t);
      s.released.push_back({s.offsets[t], s.offsets[t] + s.sizes[t], s.users[t]});
    }
  }
  return s.next_op;
}

void MemoryPlan::restart() {
  State& s = *state_;
  s.next_op = 0;
  s.peak = s.persistent;
  s.peak_op = -1;
  s.live.clear();
  s.released.clear();
}

std::int64_t MemoryPlan::offset(TensorId tensor) const {
  const std::int64_t offset = state_->offsets.at(tensor);
  if (offset < 0)
    throw std::logic_error(
        fmt::format("memory plan: {} has no place yet", state_->tensors[tensor].name));
  return offset;
}
std::int64_t MemoryPlan::end(TensorId tensor) const {
  return offset(tensor) + state_->sizes[tensor];
}
std::int64_t MemoryPlan::persistent_bytes() const { return state_->persistent; }
std::int64_t MemoryPlan::peak_bytes() const { return state_->peak; }
int MemoryPlan::peak_op() const { return state_->peak_op; }

std::int64_t planned_peak_bytes(const Program& program, const Binding& binding) {
  MemoryPlan plan(program);
  if (plan.advance(binding) < static_cast<int>(program.ops.size()))
    throw std::invalid_argument("planned peak: the routing of a dropless layer is missing");
  return plan.peak_bytes();
}

}  // namespace moe
