#include "moe/passes/separate_weight_gradients.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace moe {
namespace {

/// What the ops of one stage, micro-batch and phase use that stay together.
class StayingUses {
 public:
  explicit StayingUses(const Program& program) : program_(program) {}

  void add(const Op& op) {
    for (const Use& use : op.reads) reads_[use.tensor].push_back(use.slice);
    for (const Use& use : op.writes) writes_[use.tensor].push_back(use.slice);
  }
  /// True where one of them overwrites what the op uses, or uses what it writes.
  bool depend_on(const Op& op) const {
    return meet_any(op.reads, writes_) || meet_any(op.writes, writes_) ||
           meet_any(op.writes, reads_);
  }

 private:
  using Slices = std::map<TensorId, std::vector<Slice>>;
  bool meet_any(const std::vector<Use>& uses, const Slices& others) const {
    return std::ranges::any_of(uses, [&](const Use& use) {
      const auto found = others.find(use.tensor);
      return found != others.end() && std::ranges::any_of(found->second, [&](Slice slice) {
               return meet(program_.tensors[use.tensor], use.slice, slice);
             });
    });
  }

  const Program& program_;
  Slices reads_, writes_;
};

}  // namespace

std::vector<bool> separate_weight_gradients(const Program& program) {
  std::vector<bool> is_gradient(program.tensors.size(), false);
  for (const Parameter& parameter : program.parameters) is_gradient[parameter.gradient] = true;
  const auto of_parameter = [&](const Use& use) { return is_gradient[use.tensor]; };
  std::vector<bool> apart(program.ops.size(), false);
  std::map<std::pair<int, int>, std::vector<std::size_t>> backward;  // [stage, micro-batch]
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.phase != Phase::backward || comes_once(op)) continue;
    backward[{op.stage, op.micro_batch}].push_back(i);
    apart[i] =
        !op.writes.empty() && !is_communication(op) && std::ranges::all_of(op.writes, of_parameter);
  }
  // An op that stays can make others stay, of any micro-batch.
  for (bool changed = true; changed;) {
    changed = false;
    std::set<TensorId> staying;
    for (const auto& [where, ops] : backward) {
      for (const std::size_t i : ops) {
        if (apart[i]) continue;
        for (const Use& use : program.ops[i].writes) {
          if (of_parameter(use)) staying.insert(use.tensor);
        }
      }
    }
    for (const auto& [where, ops] : backward) {
      StayingUses later(program);
      for (auto i = ops.rbegin(); i != ops.rend(); ++i) {
        const Op& op = program.ops[*i];
        const bool stays = !apart[*i] || later.depend_on(op) ||
                           std::ranges::any_of(op.writes, [&](const Use& use) {
                             return staying.contains(use.tensor);
                           });
        if (stays) later.add(op);
        if (stays && apart[*i]) {
          apart[*i] = false;
          changed = true;
        }
      }
    }
  }
  return apart;
}

}  // namespace moe
