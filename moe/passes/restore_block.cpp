#include "moe/passes/restore_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

/// Kernels of attention, norms and dense layers.
template <class Kind>
inline constexpr bool is_dense_kind =
    std::is_same_v<Kind, LayerNorm> || std::is_same_v<Kind, RmsNorm> ||
    std::is_same_v<Kind, Linear> || std::is_same_v<Kind, Rotary> ||
    std::is_same_v<Kind, Attention> || std::is_same_v<Kind, Add> || std::is_same_v<Kind, Gelu> ||
    std::is_same_v<Kind, Relu> || std::is_same_v<Kind, GatedSilu>;

bool is_dense(const Op& op) {
  return std::visit([](const auto& kind) { return is_dense_kind<std::decay_t<decltype(kind)>>; },
                    op.kind);
}

bool uses(const std::vector<Use>& some, TensorId tensor) {
  return std::any_of(some.begin(), some.end(),
                     [&](const Use& use) { return use.tensor == tensor; });
}

/// What is restored of one micro-batch of a block, and how the Program is rewritten for it.
class BlockRestoring {
 public:
  BlockRestoring(Program& program, const RestoreBlock& restoring, int micro_batch)
      : program_(program), layer_(restoring.layer), micro_batch_(micro_batch) {
    find_restorable();
    if (restoring.dense == RestoreDense::recompute) {
      std::erase_if(restored_, [&](TensorId tensor) {
        std::set<TensorId> seen;
        return !is_repeatable(tensor, seen);
      });
    }
    find_first_reader();
  }

  bool empty() const { return restored_.empty(); }

  void recompute() {
    std::set<std::size_t> repeated;
    for (const TensorId tensor : restored_) repeat_writers(tensor, repeated);
    std::vector<Op> again;
    for (const std::size_t i : repeated) {
      Op op = with_copies(program_.ops[i]);
      op.phase = Phase::backward;
      op.name += " again";
      again.push_back(std::move(op));
    }
    read_copies();
    insert(first_reader_, std::move(again));
  }

  void offload() {
    const std::optional<std::size_t> next = begin_of_next_backward();
    const std::size_t fetched_at = next.value_or(first_reader_);
    const TensorId after = arriving_gradient(fetched_at);
    std::vector<Op> fetches;
    std::map<std::size_t, std::vector<Op>> offloads;  // by the op that writes
    Op await = copy_op(AwaitCopies{}, "await offloaded activations", Phase::forward);
    await.stream = Stream::compute;
    for (const TensorId tensor : restored_) {
      const TensorId host = add_copy(tensor, ".offloaded", Pool::host);
      Op out = copy_op(OffloadRows{}, "offload " + program_.tensors[tensor].name, Phase::forward);
      out.reads = {{tensor}};
      out.writes = {{host}};
      offloads[writers_.at(tensor).back()].push_back(std::move(out));
      await.reads.push_back({host});
      Op in = copy_op(FetchRows{}, "fetch " + program_.tensors[tensor].name, Phase::backward);
      in.reads = {{host}, {after}};
      in.writes = {{copy_of(tensor)}};
      fetches.push_back(std::move(in));
    }
    read_copies();
    const std::size_t awaited_at = end_of_next_forward();
    insert(fetched_at, std::move(fetches));
    insert(awaited_at, {std::move(await)});
    for (auto it = offloads.rbegin(); it != offloads.rend(); ++it) {
      insert(it->first + 1, std::move(it->second));
    }
  }

 private:
  bool is_of(const Op& op, int layer, Phase phase) const {
    return op.layer == layer && op.micro_batch == micro_batch_ && op.phase == phase;
  }

  /// Tensors by the ops that use them; `restored_` are those that only this block uses.
  void find_restorable() {
    std::set<TensorId> read_by_backward, kept;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const bool forward = is_of(op, layer_, Phase::forward);
      const bool backward = is_of(op, layer_, Phase::backward);
      for (const Use& use : op.writes) {
        writers_[use.tensor].push_back(i);
        if (!forward || !is_dense(op) || !is_whole(use.slice)) kept.insert(use.tensor);
      }
      for (const Use& use : op.reads) {
        if (backward) read_by_backward.insert(use.tensor);
        if (!forward && !backward) kept.insert(use.tensor);
      }
    }
    for (const TensorId tensor : read_by_backward) {
      const Tensor& t = program_.tensors[tensor];
      if (t.role != Role::activation || t.rows_are != Rows::fixed || t.windows > 1) continue;
      if (!kept.contains(tensor) && writers_.contains(tensor)) restored_.insert(tensor);
    }
  }

  void find_first_reader() {
    for (const TensorId tensor : restored_) {
      for (std::size_t i = writers_.at(tensor).back(); i < program_.ops.size(); ++i) {
        if (is_of(program_.ops[i], layer_, Phase::backward) &&
            uses(program_.ops[i].reads, tensor)) {
          first_reader_ = std::min(first_reader_, i);
          break;
        }
      }
    }
  }

  /// The ops that write the tensor are repeated, and those that write what they read where backward
  /// could not read that any more.
  void repeat_writers(TensorId tensor, std::set<std::size_t>& repeated) {
    copy_of(tensor);
    for (const std::size_t i : writers_.at(tensor)) {
      if (!repeated.insert(i).second) continue;
      for (const Use& use : program_.ops[i].writes) {
        if (!copies_.contains(use.tensor)) repeat_writers(use.tensor, repeated);
      }
      for (const Use& use : program_.ops[i].reads) {
        if (!copies_.contains(use.tensor) && is_gone(use.tensor, i)) {
          repeat_writers(use.tensor, repeated);
        }
      }
    }
  }

  /// True where the writers of the tensor can be repeated: nothing that stays is overwritten after
  /// they have read it.
  bool is_repeatable(TensorId tensor, std::set<TensorId>& seen) const {
    if (!seen.insert(tensor).second) return true;
    for (const std::size_t i : writers_.at(tensor)) {
      for (const Use& use : program_.ops[i].reads) {
        const auto found = writers_.find(use.tensor);
        if (is_gone(use.tensor, i)) {
          if (!is_repeatable(use.tensor, seen)) return false;
        } else if (found != writers_.end() && found->second.back() > i &&
                   program_.tensors[use.tensor].role == Role::activation) {
          return false;
        }
      }
    }
    return true;
  }

  /// True where nothing but the dense kernels of this block would keep what `reader` reads, or
  /// where a later op of forward writes something else there.
  bool is_gone(TensorId tensor, std::size_t reader) const {
    if (restored_.contains(tensor)) return true;
    const auto found = writers_.find(tensor);
    const Tensor& t = program_.tensors[tensor];
    if (found == writers_.end() || t.role != Role::activation || t.rows_are != Rows::fixed) {
      return false;
    }
    const bool all_here =
        std::all_of(found->second.begin(), found->second.end(), [&](std::size_t i) {
          const Op& op = program_.ops[i];
          return is_of(op, layer_, Phase::forward) && is_dense(op) && is_whole(op.part) &&
                 std::all_of(op.writes.begin(), op.writes.end(),
                             [](const Use& use) { return is_whole(use.slice); });
        });
    if (!all_here) return false;
    return found->second.back() > reader || !is_read_later(tensor);
  }

  /// True where an op beside the block's dense forward reads the tensor, so that it stays anyway.
  bool is_read_later(TensorId tensor) const {
    return std::any_of(program_.ops.begin(), program_.ops.end(), [&](const Op& op) {
      return !is_of(op, layer_, Phase::forward) && uses(op.reads, tensor);
    });
  }

  TensorId add_copy(TensorId tensor, const char* suffix, Pool pool) {
    Tensor copy = program_.tensors[tensor];
    copy.name += suffix;
    copy.pool = pool;
    program_.tensors.push_back(std::move(copy));
    return static_cast<TensorId>(program_.tensors.size()) - 1;
  }
  TensorId copy_of(TensorId tensor) {
    const auto found = copies_.find(tensor);
    if (found != copies_.end()) return found->second;
    return copies_[tensor] = add_copy(tensor, ".restored", Pool::device);
  }

  Op with_copies(Op op) const {
    for (auto* some : {&op.reads, &op.writes}) {
      for (Use& use : *some) {
        const auto found = copies_.find(use.tensor);
        if (found != copies_.end()) use.tensor = found->second;
      }
    }
    return op;
  }
  /// Backward of the block reads the copies.
  void read_copies() {
    for (Op& op : program_.ops) {
      if (!is_of(op, layer_, Phase::backward)) continue;
      for (Use& use : op.reads) {
        if (restored_.contains(use.tensor)) use.tensor = copies_.at(use.tensor);
      }
    }
  }

  Op copy_op(OpKind kind, std::string name, Phase phase) const {
    Op op;
    op.kind = std::move(kind);
    op.name = std::move(name);
    op.layer = layer_;
    op.phase = phase;
    op.stream = Stream::copy;
    op.micro_batch = micro_batch_;
    op.stage = program_.ops[first_reader_].stage;
    return op;
  }

  std::optional<std::size_t> begin_of_next_backward() const {
    for (std::size_t i = 0; i < first_reader_; ++i) {
      const Op& op = program_.ops[i];
      if (is_of(op, layer_ + 1, Phase::backward) && op.stage == program_.ops[first_reader_].stage &&
          !std::holds_alternative<PassOn>(op.kind) && arrives(i)) {
        return i;
      }
    }
    return std::nullopt;
  }
  std::size_t end_of_next_forward() const {
    std::size_t end = 0;
    for (const int layer : {layer_, layer_ + 1}) {
      for (std::size_t i = 0; i < first_reader_; ++i) {
        const Op& op = program_.ops[i];
        if (is_of(op, layer, Phase::forward) && op.stage == program_.ops[first_reader_].stage) {
          end = std::max(end, i + 1);
        }
      }
    }
    return end;
  }

  /// What the op reads of what backward has written before it.
  std::optional<TensorId> arrives(std::size_t op) const {
    for (const Use& use : program_.ops[op].reads) {
      const Tensor& t = program_.tensors[use.tensor];
      const auto found = writers_.find(use.tensor);
      if (t.role != Role::activation || t.rows_are != Rows::fixed || found == writers_.end()) {
        continue;
      }
      if (found->second.front() < op &&
          program_.ops[found->second.front()].phase == Phase::backward) {
        return use.tensor;
      }
    }
    return std::nullopt;
  }
  TensorId arriving_gradient(std::size_t place) const {
    for (std::size_t i = place; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.phase != Phase::backward || op.micro_batch != micro_batch_) continue;
      for (const Use& use : op.reads) {
        const auto found = writers_.find(use.tensor);
        if (program_.tensors[use.tensor].role != Role::activation || found == writers_.end()) {
          continue;
        }
        const std::size_t first = found->second.front();
        if (first < place && program_.ops[first].phase == Phase::backward &&
            program_.tensors[use.tensor].rows_are == Rows::fixed) {
          return use.tensor;
        }
      }
    }
    throw Refusal(fmt::format("restore_block: offload (layer {})", layer_),
                  "no op of its backward reads a gradient of tokens", "expected \"recompute\"",
                  {.layer = layer_});
  }

  void insert(std::size_t place, std::vector<Op> ops) {
    program_.ops.insert(program_.ops.begin() + static_cast<std::ptrdiff_t>(place),
                        std::make_move_iterator(ops.begin()), std::make_move_iterator(ops.end()));
  }

  Program& program_;
  int layer_, micro_batch_;
  std::map<TensorId, std::vector<std::size_t>> writers_;  ///< the ops that write a tensor, in order
  std::set<TensorId> restored_;
  std::map<TensorId, TensorId> copies_;  ///< what backward reads instead
  std::size_t first_reader_ = static_cast<std::size_t>(-1);
};

}  // namespace

Program apply(Program program, const RestoreBlock& restoring) {
  bool found = false;
  for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
    BlockRestoring block(program, restoring, micro_batch);
    if (block.empty()) continue;
    found = true;
    if (restoring.dense == RestoreDense::recompute) {
      block.recompute();
    } else {
      block.offload();
    }
  }
  if (!found) {
    throw Refusal(
        fmt::format("restore_block: {} (layer {})",
                    kRestoreDenseNames[static_cast<std::size_t>(restoring.dense)], restoring.layer),
        "no activations of dense layers there that its backward alone reads",
        expected_layer(
            program, [](const Op& op) { return op.layer >= 0 && is_dense(op); },
            "expected a model with blocks"),
        {.layer = restoring.layer});
  }
  return program;
}

std::string subject(const RestoreBlock& restoring) { return std::to_string(restoring.layer); }

void write(nlohmann::json& object, const RestoreBlock& restoring) {
  object["layer"] = restoring.layer;
  object["dense"] = kRestoreDenseNames[static_cast<std::size_t>(restoring.dense)];
}

RestoreBlock RestoreBlock::read(const InputObject& input) {
  RestoreBlock restoring;
  restoring.layer = read_layer(input);
  restoring.dense =
      static_cast<RestoreDense>(input.member("dense", "how activations are restored")
                                    .one_of({kRestoreDenseNames[0], kRestoreDenseNames[1]}));
  return restoring;
}

}  // namespace moe
