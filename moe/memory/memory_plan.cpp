#include "moe/memory/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "moe/memory/free_memory.h"
#include "moe/memory/memory_owners.h"
#include "moe/program/row_handling.h"
#include "moe/program/shareable_state.h"
#include "moe/program/stage_program.h"

namespace moe {
namespace {

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

constexpr StreamProgress progress_of(int ops) {
  StreamProgress progress{};
  progress.fill(ops);
  return progress;
}

/// The ops that use a tensor, and when its memory may pass to another tensor.
struct Users {
  int count = 0;  ///< number of ops
  int last = -1;  ///< the last op
  /// Once the streams have come so far, all users have ended.
  StreamProgress until = progress_of(0);
  /// The streams have come at least so far when any of its writers starts. Readers wait for
  /// writers, so it is enough that the writers come after all users of the previous tensor.
  StreamProgress known = progress_of(std::numeric_limits<int>::max());
};

/// True where only its routing tells how many rows the tensor has.
bool is_late(const Tensor& tensor) {
  return lives_within_iteration(tensor.role) && tensor.rows_are != Rows::fixed && tensor.rows == 0;
}

/// The ops that are placed once the routing of a layer is known, or at the beginning where there is
/// no layer.
struct Wave {
  std::optional<RoutedLayer> layer;
  std::vector<int> ops;  ///< ascending
};

}  // namespace

struct MemoryPlan::State {
  std::vector<Tensor> tensors;
  std::vector<TensorId> owners;  ///< by tensor (memory_owners.h); the others have no users
  std::vector<std::vector<TensorId>> activations;  ///< [op]: the owners that it uses
  std::vector<Users> users;                        ///< by tensor
  std::vector<Wave> waves;  ///< all waves, in the order in which their sizes become known

  /// The memory of one pool. Only the device's holds tensors that live over iterations.
  struct Arena {
    std::int64_t persistent = 0;
    std::int64_t peak = 0;
    int peak_op = -1;
    FreeMemory free{0};
  };

  std::vector<std::int64_t> offsets, sizes;  ///< by tensor
  std::array<Arena, kPoolCount> arenas;
  std::size_t visited = 0;   ///< waves visited
  std::vector<int> to_come;  ///< [tensor]: users not yet visited

  void add_users(const Program& program, const StartRule& rule);
  void place_persistent(const Program& program);
  void find_waves(const Program& program, const StartRule& rule);

  void visit(int op, const Binding& binding) {
    for (const TensorId t : activations[op]) {
      if (offsets[t] < 0) place(t, aligned(allocated_bytes(tensors[t], binding)), op);
    }
    for (const TensorId t : activations[op]) {
      if (--to_come[t] > 0) continue;
      arena(tensors[t].pool).free.give_back(offsets[t], offsets[t] + sizes[t], users[t].until);
    }
  }

  Arena& arena(Pool pool) { return arenas[static_cast<std::size_t>(pool)]; }

  void place(TensorId tensor, std::int64_t bytes, int op) {
    Arena& in = arena(tensors[tensor].pool);
    offsets[tensor] = in.free.take(bytes, users[tensor].known);
    sizes[tensor] = bytes;
    if (offsets[tensor] + bytes > in.peak) {
      in.peak = offsets[tensor] + bytes;
      in.peak_op = op;
    }
  }
};

void MemoryPlan::State::add_users(const Program& program, const StartRule& rule) {
  users.resize(program.tensors.size());
  activations.resize(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const int op = static_cast<int>(i);
    const auto stream = static_cast<std::size_t>(rule.stream[i]);
    for (const auto* uses : {&program.ops[i].reads, &program.ops[i].writes}) {
      for (const Use& use : *uses) {
        const TensorId tensor = owners[use.tensor];
        Users& of = users[tensor];
        if (of.last == op) continue;
        of.last = op;
        ++of.count;
        of.until[stream] = std::max(of.until[stream], rule.place[i] + 1);
        if (lives_within_iteration(tensors[tensor].role)) activations[i].push_back(tensor);
      }
    }
    for (const Use& use : program.ops[i].writes) {
      StreamProgress& known = users[owners[use.tensor]].known;
      for (std::size_t s = 0; s < kStreamCount; ++s) {
        known[s] = std::min(known[s], rule.progress[i][s]);
      }
    }
  }
}

/// Places tensors role by role, so that the gradients of a block adjoin and take one all-reduce.
/// States that ranks may share out come last: those of other parameters then have the same places
/// whether or not a schedule shares (train/change_program.h).
void MemoryPlan::State::place_persistent(const Program& program) {
  std::vector<bool> shareable(tensors.size(), false);
  for (const Parameter& parameter : program.parameters) {
    for (const TensorId state : parameter.optimizer_state) {
      shareable[static_cast<std::size_t>(state)] = may_share_state(program, parameter);
    }
  }
  offsets.assign(tensors.size(), -1);
  sizes.assign(tensors.size(), 0);
  const Binding unbound;
  std::int64_t& persistent = arena(Pool::device).persistent;
  const auto place_all = [&](Role role, bool shared_out) {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].role != role || shareable[t] != shared_out) continue;
      offsets[t] = persistent;
      sizes[t] = aligned(allocated_bytes(tensors[t], unbound));
      persistent += sizes[t];
    }
  };
  for (const Role role :
       {Role::input, Role::result, Role::parameter, Role::gradient, Role::optimizer_state}) {
    place_all(role, false);
  }
  place_all(Role::optimizer_state, true);
}

void MemoryPlan::State::find_waves(const Program& program, const StartRule& rule) {
  std::set<RoutedLayer> late;
  for (const auto& of_op : activations) {
    for (const TensorId t : of_op) {
      if (is_late(tensors[t])) late.insert(routed_layer(tensors[t]));
    }
  }
  waves.push_back({});
  std::map<RoutedLayer, std::size_t> wave_of;
  const auto wave = [&](RoutedLayer layer) {
    const auto [found, added] = wave_of.try_emplace(layer, waves.size());
    if (added) waves.push_back({layer, {}});
    return found->second;
  };
  std::vector<std::size_t> known_after{0};  // [ops of the host that have ended]
  for (const int op : rule.queues[static_cast<std::size_t>(Stream::host)]) {
    const RoutedLayer layer = routed_layer(program.ops[op]);
    const bool tells = binds_routing(program.ops[op]) && late.contains(layer);
    known_after.push_back(tells ? wave(layer) : known_after.back());
  }
  for (std::size_t op = 0; op < activations.size(); ++op) {
    std::size_t last = known_after[rule.progress[op][static_cast<std::size_t>(Stream::host)]];
    for (const TensorId t : activations[op]) {
      if (is_late(tensors[t])) last = std::max(last, wave(routed_layer(tensors[t])));
    }
    waves[last].ops.push_back(static_cast<int>(op));
  }
}

MemoryPlan::MemoryPlan(const Program& program, const StartRule& rule)
    : state_(std::make_unique<State>()) {
  state_->tensors = program.tensors;
  state_->owners = memory_owners(program);
  state_->add_users(program, rule);
  state_->place_persistent(program);
  state_->find_waves(program, rule);
  restart();
}

MemoryPlan::~MemoryPlan() = default;

std::vector<int> MemoryPlan::advance(const Binding& binding) {
  State& s = *state_;
  std::vector<int> ops;
  for (; s.visited < s.waves.size(); ++s.visited) {
    const Wave& wave = s.waves[s.visited];
    if (wave.layer && !binding.layouts.contains(*wave.layer)) break;
    for (const int op : wave.ops) s.visit(op, binding);
    ops.insert(ops.end(), wave.ops.begin(), wave.ops.end());
  }
  return ops;
}

bool MemoryPlan::is_complete() const { return state_->visited == state_->waves.size(); }

void MemoryPlan::restart() {
  State& s = *state_;
  s.visited = 0;
  s.to_come.clear();
  for (const Users& users : s.users) s.to_come.push_back(users.count);
  for (std::size_t t = 0; t < s.tensors.size(); ++t) {
    if (lives_within_iteration(s.tensors[t].role)) s.offsets[t] = -1;
  }
  for (State::Arena& arena : s.arenas) {
    arena.peak = arena.persistent;
    arena.peak_op = -1;
    arena.free.restart(arena.persistent);
  }
}

bool MemoryPlan::has_place(TensorId tensor) const {
  return state_->offsets.at(state_->owners.at(tensor)) >= 0;
}
std::int64_t MemoryPlan::offset(TensorId tensor) const {
  const std::int64_t offset = state_->offsets.at(state_->owners.at(tensor));
  if (offset < 0) {
    throw std::logic_error(
        fmt::format("memory plan: {} has no place yet", state_->tensors[tensor].name));
  }
  return offset;
}
std::int64_t MemoryPlan::end(TensorId tensor) const {
  return offset(tensor) + state_->sizes[state_->owners[tensor]];
}
std::int64_t MemoryPlan::activations_begin() const {
  return state_->arena(Pool::device).persistent;
}
std::int64_t MemoryPlan::peak_bytes(Pool pool) const { return state_->arena(pool).peak; }
int MemoryPlan::peak_op(Pool pool) const { return state_->arena(pool).peak_op; }

std::int64_t planned_peak_bytes(const Program& program, const Binding& binding, Pool pool) {
  MemoryPlan plan(program, start_rule(program));
  plan.advance(binding);
  if (!plan.is_complete()) {
    throw std::invalid_argument("planned peak: the routing of a dropless layer is missing");
  }
  return plan.peak_bytes(pool);
}

std::optional<std::int64_t> known_peak_bytes(const Program& whole, int rank) {
  const Groups& groups = whole.groups;
  const Program stage = stage_program(whole, stage_of(groups, rank)).program;
  MemoryPlan plan(stage, start_rule(stage));
  plan.advance(padded_rows(stage, groups, rank));
  if (!plan.is_complete()) return std::nullopt;
  return plan.peak_bytes();
}

}  // namespace moe
