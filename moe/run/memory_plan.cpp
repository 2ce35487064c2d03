#include "moe/run/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace moe {
namespace {

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Memory given back: who may still touch it.
struct Block {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<int> users;  ///< ops
};

/// Memory of a tensor that is in use.
struct Live {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

constexpr auto kBeginsBefore = [](const auto& block, std::int64_t offset) {
  return block.begin < offset;
};

}  // namespace

struct MemoryPlan::State {
  std::vector<Tensor> tensors;
  StartRule rule;
  std::vector<std::vector<TensorId>> activations;  ///< by op: those it uses
  std::vector<std::vector<int>> users, writers;    ///< by tensor

  std::vector<std::int64_t> offsets, sizes;  ///< by tensor
  std::int64_t persistent = 0;
  std::int64_t peak = 0;
  int peak_op = -1;
  std::vector<int> left;             ///< ops not visited, ascending
  std::vector<std::size_t> to_come;  ///< by tensor: users not visited
  // No two of these overlap; ascending.
  std::vector<Live> live;
  std::vector<Block> released;

  /// Whoever reads the new tensor waits for its writers, so it is enough that these come after all
  /// users of the old.
  bool may_reuse(const Block& block, TensorId tensor) const {
    return std::all_of(writers[tensor].begin(), writers[tensor].end(), [&](int writer) {
      return std::all_of(block.users.begin(), block.users.end(),
                         [&](int user) { return ends_before(rule, user, writer); });
    });
  }

  void place(TensorId tensor, std::int64_t bytes, int op) {
    std::int64_t offset = persistent;
    auto used = live.cbegin();
    auto given_back = released.cbegin();
    while (used != live.cend() || given_back != released.cend()) {
      const bool in_use =
          given_back == released.cend() || (used != live.cend() && used->begin < given_back->begin);
      if (offset + bytes <= (in_use ? used->begin : given_back->begin)) break;
      if (in_use) {
        offset = std::max(offset, (used++)->end);
        continue;
      }
      if (!may_reuse(*given_back, tensor)) offset = std::max(offset, given_back->end);
      ++given_back;
    }
    offsets[tensor] = offset;
    sizes[tensor] = bytes;
    if (offset + bytes > peak) {
      peak = offset + bytes;
      peak_op = op;
    }
    live.insert(std::lower_bound(live.begin(), live.end(), offset, kBeginsBefore),
                {offset, offset + bytes});
    cover(offset, offset + bytes);
  }

  void release(TensorId tensor) {
    const std::int64_t begin = offsets[tensor];
    live.erase(std::lower_bound(live.begin(), live.end(), begin, kBeginsBefore));
    released.insert(std::lower_bound(released.begin(), released.end(), begin, kBeginsBefore),
                    {begin, begin + sizes[tensor], users[tensor]});
  }

  /// Cuts [begin, end) out of the released blocks: who comes after the new tensor comes after them
  /// too.
  void cover(std::int64_t begin, std::int64_t end) {
    std::vector<Block> kept;
    for (Block& block : released) {
      if (block.begin < begin) {
        kept.push_back({block.begin, std::min(block.end, begin), block.users});
      }
      if (block.end > end) kept.push_back({std::max(block.begin, end), block.end, block.users});
    }
    released = std::move(kept);
  }
};

MemoryPlan::MemoryPlan(const Program& program, StartRule rule) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.tensors = program.tensors;
  s.rule = std::move(rule);
  s.users.resize(program.tensors.size());
  s.writers.resize(program.tensors.size());
  s.activations.resize(program.ops.size());
  s.offsets.assign(program.tensors.size(), -1);
  s.sizes.assign(program.tensors.size(), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const int op = static_cast<int>(i);
    for (const auto* uses : {&program.ops[i].reads, &program.ops[i].writes}) {
      for (const Use& use : *uses) {
        auto& users = s.users[use.tensor];
        if (!users.empty() && users.back() == op) continue;
        users.push_back(op);
        if (s.tensors[use.tensor].role == Role::activation) s.activations[i].push_back(use.tensor);
      }
    }
    for (const Use& use : program.ops[i].writes) s.writers[use.tensor].push_back(op);
  }
  // Role by role, so that the gradients of a block lie side by side and travel in one all-reduce.
  const Binding unbound;
  for (const Role role :
       {Role::input, Role::result, Role::parameter, Role::gradient, Role::optimizer_state}) {
    for (TensorId t = 0; t < static_cast<TensorId>(program.tensors.size()); ++t) {
      if (program.tensors[t].role != role) continue;
      s.offsets[t] = s.persistent;
      s.sizes[t] = aligned(allocated_bytes(program.tensors[t], unbound));
      s.persistent += s.sizes[t];
    }
  }
  restart();
}

MemoryPlan::~MemoryPlan() = default;

std::vector<int> MemoryPlan::advance(const Binding& binding) {
  State& s = *state_;
  std::vector<int> visited, left;
  const auto has_size = [&](TensorId t) {
    return s.offsets[t] >= 0 || s.tensors[t].rows > 0 || is_bound(s.tensors[t], binding);
  };
  for (const int op : s.left) {
    const auto& used = s.activations[op];
    if (!std::all_of(used.begin(), used.end(), has_size)) {
      left.push_back(op);
      continue;
    }
    for (const TensorId t : used) {
      if (s.offsets[t] < 0) s.place(t, aligned(allocated_bytes(s.tensors[t], binding)), op);
    }
    for (const TensorId t : used) {
      if (--s.to_come[t] == 0) s.release(t);
    }
    visited.push_back(op);
  }
  s.left = std::move(left);
  return visited;
}

bool MemoryPlan::is_complete() const { return state_->left.empty(); }

void MemoryPlan::restart() {
  State& s = *state_;
  s.left.resize(s.activations.size());
  std::iota(s.left.begin(), s.left.end(), 0);
  s.to_come.clear();
  for (const auto& users : s.users) s.to_come.push_back(users.size());
  for (TensorId t = 0; t < static_cast<TensorId>(s.tensors.size()); ++t) {
    if (s.tensors[t].role == Role::activation) s.offsets[t] = -1;
  }
  s.peak = s.persistent;
  s.peak_op = -1;
  s.live.clear();
  s.released.clear();
}

std::int64_t MemoryPlan::offset(TensorId tensor) const {
  const std::int64_t offset = state_->offsets.at(tensor);
  if (offset < 0) {
    throw std::logic_error(
        fmt::format("memory plan: {} has no place yet", state_->tensors[tensor].name));
  }
  return offset;
}
std::int64_t MemoryPlan::end(TensorId tensor) const {
  return offset(tensor) + state_->sizes[tensor];
}
std::int64_t MemoryPlan::activations_begin() const { return state_->persistent; }
std::int64_t MemoryPlan::peak_bytes() const { return state_->peak; }
int MemoryPlan::peak_op() const { return state_->peak_op; }

std::int64_t planned_peak_bytes(const Program& program, const Binding& binding) {
  MemoryPlan plan(program, start_rule(program));
  Binding known;
  plan.advance(known);
  for (const RoutedLayer layer : routed_layers(program)) {
    if (plan.is_complete()) break;
    if (const auto layout = binding.layouts.find(layer); layout != binding.layouts.end()) {
      known.layouts.insert(*layout);
    }
    plan.advance(known);
  }
  if (!plan.is_complete()) {
    throw std::invalid_argument("planned peak: the routing of a dropless layer is missing");
  }
  return plan.peak_bytes();
}

}  // namespace moe
