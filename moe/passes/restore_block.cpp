#include "moe/passes/restore_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/op_edits.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

/// Kernels of attention, norms and dense layers.
template <class Kind>
inline constexpr bool is_dense_kind =
    std::is_same_v<Kind, LayerNorm> || std::is_same_v<Kind, RmsNorm> ||
    std::is_same_v<Kind, QueryKeyNorm> || std::is_same_v<Kind, JoinHeads> ||
    std::is_same_v<Kind, Scale> || std::is_same_v<Kind, ScaleRows> ||
    std::is_same_v<Kind, Linear> || std::is_same_v<Kind, Rotary> ||
    std::is_same_v<Kind, Attention> || std::is_same_v<Kind, Add> || std::is_same_v<Kind, Gelu> ||
    std::is_same_v<Kind, Relu> || std::is_same_v<Kind, GatedSilu> ||
    std::is_same_v<Kind, ClampedSwiglu>;

/// Communication that brings rows to a block.
template <class Kind>
inline constexpr bool is_bringing_kind =
    std::is_same_v<Kind, AllToAll> || std::is_same_v<Kind, ExchangeInNode> ||
    std::is_same_v<Kind, ExchangeAcrossNodes> || std::is_same_v<Kind, ExchangeStep> ||
    std::is_same_v<Kind, GatherRows> || std::is_same_v<Kind, ScatterRows> ||
    std::is_same_v<Kind, AllGather> || std::is_same_v<Kind, ReduceScatter>;

/// Kernels on routed rows, and those of gates that choose nothing. Random numbers are the same when
/// they are drawn again (draw.h).
template <class Kind>
inline constexpr bool is_routed_kind =
    std::is_same_v<Kind, Permute> || std::is_same_v<Kind, ClearPadding> ||
    std::is_same_v<Kind, DispatchMask> || std::is_same_v<Kind, EinsumRows> ||
    std::is_same_v<Kind, EinsumTokens> || std::is_same_v<Kind, PackRows> ||
    std::is_same_v<Kind, UnpackRows> || std::is_same_v<Kind, ExpertLinear> ||
    std::is_same_v<Kind, SumShares> || std::is_same_v<Kind, Combine> ||
    std::is_same_v<Kind, Jitter> || std::is_same_v<Kind, RoundBf16> ||
    std::is_same_v<Kind, Sigmoid> || std::is_same_v<Kind, Softmax> ||
    std::is_same_v<Kind, KeepBestGroups> || std::is_same_v<Kind, AddExpertBias> ||
    std::is_same_v<Kind, AddNoise> || std::is_same_v<Kind, CosineLogits>;

bool is_dense(const Op& op) {
  return std::visit([](const auto& kind) { return is_dense_kind<std::decay_t<decltype(kind)>>; },
                    op.kind);
}

bool is_routed(const Op& op) {
  return std::visit([](const auto& kind) { return is_routed_kind<std::decay_t<decltype(kind)>>; },
                    op.kind);
}

std::string described(const RestoreBlock& restoring) {
  const bool repeats = restoring.communication == RestoreCommunication::repeat;
  return fmt::format("restore_block: {}{} (layer {})",
                     kRestoreDenseNames[static_cast<std::size_t>(restoring.dense)],
                     repeats ? ", repeat" : "", restoring.layer);
}

/// [tensor]: the places of the ops that write or read it, ascending. A scan of the Program for all
/// micro-batches, in flat lists.
class Places {
 public:
  Places(const Program& program, std::vector<Use> Op::*uses) : begin_(program.tensors.size() + 1) {
    for (const Op& op : program.ops) {
      for (const Use& use : op.*uses) ++begin_[static_cast<std::size_t>(use.tensor) + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    places_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (const Use& use : program.ops[i].*uses) places_[next[use.tensor]++] = i;
    }
  }
  std::span<const std::size_t> of(TensorId tensor) const {
    return std::span(places_).subspan(begin_[tensor], begin_[tensor + 1] - begin_[tensor]);
  }

 private:
  std::vector<std::size_t> begin_, places_;
};

/// The Program that blocks are restored in, as it was before any of it. What is added is kept apart
/// until all micro-batches of all blocks are done, so that places of ops hold. No block has a part
/// in what another restores.
struct Restored {
  Program& program;
  Places writers{program, &Op::writes}, readers{program, &Op::reads};
  std::vector<std::vector<std::size_t>> of_micro_batch;  ///< ops of it, ascending
  /// [block, micro-batch]: its ops, ascending.
  std::map<std::pair<int, int>, std::vector<std::size_t>> of_block;
  OpEdits edits{program.ops};

  explicit Restored(Program& of) : program(of), of_micro_batch(of.micro_batches) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      of_micro_batch.at(op.micro_batch).push_back(i);
      of_block[{op.layer, op.micro_batch}].push_back(i);
    }
  }
};

/// What is restored of one micro-batch of a block, and how the Program is rewritten for it.
class BlockRestoring {
 public:
  BlockRestoring(Restored& all, const RestoreBlock& restoring, int micro_batch)
      : all_(all),
        program_(all.program),
        of_micro_batch_(all.of_micro_batch.at(micro_batch)),
        own_(all.of_block[{restoring.layer, micro_batch}]),
        layer_(restoring.layer),
        micro_batch_(micro_batch),
        whole_(restoring.communication == RestoreCommunication::repeat) {
    find_restorable();
    if (restoring.dense == RestoreDense::recompute) {
      std::set<TensorId> repeatable;
      std::erase_if(restored_, [&](TensorId tensor) {
        if (is_repeatable(tensor, repeatable)) return false;
        repeatable.clear();  // not all that was seen
        return true;
      });
    }
    find_first_reader();
  }

  bool empty() const { return restored_.empty(); }

  void recompute() {
    read_experts_sent_again();
    std::set<std::size_t> places;
    for (const TensorId tensor : restored_) repeat_writers(tensor, places);
    std::vector<Op> again;
    for (const std::size_t i : places) again.push_back(repeated(with_copies(program_.ops[i])));
    read_copies();
    all_.edits.put_before(first_reader_, std::move(again));
  }

  void offload() {
    const std::optional<std::size_t> next = begin_of_next_backward();
    const std::size_t fetched_at = next.value_or(first_reader_);
    const TensorId after = arriving_gradient(fetched_at);
    std::vector<Op> fetches;
    std::map<std::size_t, std::vector<Op>> behind;
    Op await = copy_op(AwaitCopies{}, "await offloaded activations", Phase::forward);
    await.stream = Stream::compute;
    for (const TensorId tensor : restored_) {
      const TensorId host = add_copy(tensor, ".offloaded", Pool::host);
      Op out = copy_op(OffloadRows{}, "offload " + program_.tensors[tensor].name, Phase::forward);
      out.reads = {{tensor}};
      out.writes = {{host}};
      behind[writers(tensor).back()].push_back(std::move(out));
      await.reads.push_back({host});
      Op in = copy_op(FetchRows{}, "fetch " + program_.tensors[tensor].name, Phase::backward);
      in.reads = {{host}, {after}};
      in.writes = {{copy_of(tensor)}};
      fetches.push_back(std::move(in));
    }
    read_copies();
    all_.edits.put_before(fetched_at, std::move(fetches));
    behind[last_of_next_forward()].push_back(std::move(await));
    for (auto& [place, ops] : behind) all_.edits.put_behind(place, std::move(ops));
  }

 private:
  std::span<const std::size_t> writers(TensorId tensor) const { return all_.writers.of(tensor); }
  std::span<const std::size_t> readers(TensorId tensor) const { return all_.readers.of(tensor); }
  bool is_of(const Op& op, int layer, Phase phase) const {
    return op.layer == layer && op.micro_batch == micro_batch_ && op.phase == phase;
  }

  /// An op of this block's forward that can be repeated.
  bool is_repeated_here(const Op& op) const {
    if (!is_of(op, layer_, Phase::forward)) return false;
    return is_dense(op) || (whole_ && (is_routed(op) || repeats_with_block(op)));
  }

  /// `restored_` are tensors that such ops write, and only this block reads, its backward among
  /// others.
  void find_restorable() {
    for (const std::size_t place : own_) {
      if (!is_of(program_.ops[place], layer_, Phase::backward)) continue;
      for (const Use& use : program_.ops[place].reads) {
        const Tensor& t = program_.tensors[use.tensor];
        if (t.role != Role::activation || !is_looked_at(t)) continue;
        if (!writers(use.tensor).empty() && !is_kept(use.tensor)) restored_.insert(use.tensor);
      }
    }
  }

  bool is_looked_at(const Tensor& tensor) const {
    return (whole_ || tensor.rows_are == Rows::fixed) && tensor.windows == 1;
  }

  bool is_kept(TensorId tensor) const {
    const auto keeps = [&](std::size_t writer) {
      const Op& op = program_.ops[writer];
      return !is_repeated_here(op) ||
             (!whole_ && std::ranges::any_of(op.writes, [&](const Use& use) {
               return use.tensor == tensor && !is_whole(use.slice);
             }));
    };
    const auto is_elsewhere = [&](std::size_t reader) {
      const Op& op = program_.ops[reader];
      return !is_of(op, layer_, Phase::forward) && !is_of(op, layer_, Phase::backward);
    };
    return std::ranges::any_of(writers(tensor), keeps) ||
           std::ranges::any_of(readers(tensor), is_elsewhere);
  }

  void find_first_reader() {
    for (const TensorId tensor : restored_) {
      const auto reader = std::ranges::find_if(readers(tensor), [&](std::size_t i) {
        return i >= writers(tensor).back() && is_of(program_.ops[i], layer_, Phase::backward);
      });
      if (reader != readers(tensor).end()) first_reader_ = std::min(first_reader_, *reader);
    }
  }

  /// Where experts are sent once more for backward (SlotsOf::all_layers), what is repeated reads
  /// those.
  void read_experts_sent_again() {
    std::map<TensorId, TensorId> sent;  // [parameter]
    for (const std::size_t place : own_) {
      const Op& op = program_.ops[place];
      if (!std::holds_alternative<SendExperts>(op.kind)) continue;
      for (std::size_t i = 0; i < op.writes.size(); ++i) {
        const auto [first, is_first] = sent.try_emplace(op.reads[i].tensor, op.writes[i].tensor);
        if (!is_first && op.phase == Phase::backward) copies_[first->second] = op.writes[i].tensor;
      }
    }
  }

  /// The ops that write the tensor are repeated, and those that write what they read where backward
  /// could not read that any more.
  void repeat_writers(TensorId tensor, std::set<std::size_t>& places) {
    copy_of(tensor);
    for (const std::size_t i : writers(tensor)) {
      if (!places.insert(i).second) continue;
      for (const Use& use : program_.ops[i].writes) {
        if (!copies_.contains(use.tensor)) repeat_writers(use.tensor, places);
      }
      for (const Use& use : program_.ops[i].reads) {
        if (!copies_.contains(use.tensor) && is_gone(use.tensor, i)) {
          repeat_writers(use.tensor, places);
        }
      }
    }
  }

  /// True where the writers of the tensor can be repeated, with those of all that they write: nothing
  /// that stays is overwritten after they have read it.
  bool is_repeatable(TensorId tensor, std::set<TensorId>& seen) const {
    if (!seen.insert(tensor).second) return true;
    for (const std::size_t i : writers(tensor)) {
      if (!is_repeated_here(program_.ops[i])) return false;
      for (const Use& use : program_.ops[i].writes) {
        if (!is_repeatable(use.tensor, seen)) return false;
      }
      for (const Use& use : program_.ops[i].reads) {
        const auto written = writers(use.tensor);
        if (is_gone(use.tensor, i)) {
          if (!is_repeatable(use.tensor, seen)) return false;
        } else if (!written.empty() && written.back() > i &&
                   program_.tensors[use.tensor].role == Role::activation) {
          return false;
        }
      }
    }
    return true;
  }

  /// True where nothing but what is repeated would keep what `reader` reads, or where a later op of
  /// forward writes something else there.
  bool is_gone(TensorId tensor, std::size_t reader) const {
    if (restored_.contains(tensor)) return true;
    const auto written = writers(tensor);
    const Tensor& t = program_.tensors[tensor];
    if (written.empty() || t.role != Role::activation || !is_looked_at(t)) return false;
    const bool all_here = std::ranges::all_of(written, [&](std::size_t i) {
      const Op& op = program_.ops[i];
      const bool all =
          is_whole(op.part) && std::all_of(op.writes.begin(), op.writes.end(),
                                           [](const Use& use) { return is_whole(use.slice); });
      return is_repeated_here(op) && (whole_ || all);
    });
    if (!all_here) return false;
    return written.back() > reader || !is_read_later(tensor);
  }

  /// True where an op beside the block's forward reads the tensor, so that it stays anyway.
  bool is_read_later(TensorId tensor) const {
    return std::ranges::any_of(readers(tensor), [&](std::size_t reader) {
      return !is_of(program_.ops[reader], layer_, Phase::forward);
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
    for (const std::size_t place : own_) {
      Op& op = program_.ops[place];
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
    for (const std::size_t i : of_micro_batch_) {
      const Op& op = program_.ops[i];
      if (i >= first_reader_) break;
      if (is_of(op, layer_ + 1, Phase::backward) && op.stage == program_.ops[first_reader_].stage &&
          !std::holds_alternative<PassOn>(op.kind) && arrives(i, i)) {
        return i;
      }
    }
    return std::nullopt;
  }
  std::size_t last_of_next_forward() const {
    std::size_t last_here = 0, last_of_next = 0;
    for (const std::size_t i : of_micro_batch_) {
      const Op& op = program_.ops[i];
      if (i >= first_reader_) break;
      if (op.stage != program_.ops[first_reader_].stage) continue;
      if (is_of(op, layer_, Phase::forward)) last_here = i;
      if (is_of(op, layer_ + 1, Phase::forward)) last_of_next = i;
    }
    return std::max(last_here, last_of_next);
  }

  /// What the op reads of what backward has written before `place`.
  std::optional<TensorId> arrives(std::size_t op, std::size_t place) const {
    for (const Use& use : program_.ops[op].reads) {
      const Tensor& t = program_.tensors[use.tensor];
      const auto written = writers(use.tensor);
      if (t.role != Role::activation || t.rows_are != Rows::fixed || written.empty()) continue;
      if (written.front() < place && program_.ops[written.front()].phase == Phase::backward) {
        return use.tensor;
      }
    }
    return std::nullopt;
  }
  TensorId arriving_gradient(std::size_t place) const {
    for (const std::size_t i : of_micro_batch_) {
      if (i < place || program_.ops[i].phase != Phase::backward) continue;
      if (const auto gradient = arrives(i, place)) return *gradient;
    }
    throw Refusal(fmt::format("restore_block: offload (layer {})", layer_),
                  "no op of its backward reads a gradient of tokens", "expected \"recompute\"",
                  {.layer = layer_});
  }

  Restored& all_;
  Program& program_;
  const std::vector<std::size_t>& of_micro_batch_;  ///< the places of its ops
  const std::vector<std::size_t>& own_;             ///< those of the block
  int layer_, micro_batch_;
  bool whole_;  ///< exchanges and ops on routed rows are repeated too
  std::set<TensorId> restored_;
  std::map<TensorId, TensorId> copies_;  ///< what backward reads instead
  std::size_t first_reader_ = static_cast<std::size_t>(-1);
};

void check_repeating(const Program& program, const RestoreBlock& restoring) {
  if (restoring.communication == RestoreCommunication::keep) return;
  const auto refuse = [&](std::string_view why, std::string way_out, const std::string& op = {}) {
    throw Refusal(described(restoring), why, std::move(way_out), {op, restoring.layer});
  };
  if (restoring.dense != RestoreDense::recompute) {
    refuse("exchanges are repeated with what they send", "expected \"dense\": \"recompute\"");
  }
  bool repeats = false;
  for (const Op& op : program.ops) {
    if (op.layer != restoring.layer) continue;
    repeats = repeats || repeats_with_block(op);
    for (const Use& use : op.writes) {
      if (program.tensors[use.tensor].windows == 1) continue;
      refuse("chunks share buffers (restore_activation)",
             "expected \"communication\": \"keep\", or no restore_activation", op.name);
    }
  }
  if (repeats) return;
  refuse("nothing is sent in the block",
         expected_layer(program, repeats_with_block, "expected \"communication\": \"keep\""));
}

}  // namespace

bool repeats_with_block(const Op& op) {
  return op.layer >= 0 && op.phase == Phase::forward &&
         std::visit([](const auto& kind) { return is_bringing_kind<std::decay_t<decltype(kind)>>; },
                    op.kind);
}

Program apply(Program program, const RestoreBlock& restoring) {
  return apply_all(std::move(program), std::span(&restoring, 1));
}

Program apply_all(Program program, std::span<const RestoreBlock> blocks) {
  Restored all(program);
  for (const RestoreBlock& restoring : blocks) {
    check_repeating(program, restoring);
    bool found = false;
    for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
      BlockRestoring block(all, restoring, micro_batch);
      if (block.empty()) continue;
      found = true;
      if (restoring.dense == RestoreDense::recompute) {
        block.recompute();
      } else {
        block.offload();
      }
    }
    if (found) continue;
    throw Refusal(described(restoring),
                  "no activations of dense layers there that its backward alone reads",
                  expected_layer(
                      program, [](const Op& op) { return op.layer >= 0 && is_dense(op); },
                      "expected a model with blocks"),
                  {.layer = restoring.layer});
  }
  all.edits.make();
  return program;
}

std::string subject(const RestoreBlock& restoring) { return std::to_string(restoring.layer); }

void write(nlohmann::json& object, const RestoreBlock& restoring) {
  object["layer"] = restoring.layer;
  object["dense"] = kRestoreDenseNames[static_cast<std::size_t>(restoring.dense)];
  if (restoring.communication == RestoreCommunication::keep) return;
  object["communication"] =
      kRestoreCommunicationNames[static_cast<std::size_t>(restoring.communication)];
}

RestoreBlock RestoreBlock::read(const InputObject& input) {
  RestoreBlock restoring;
  restoring.layer = read_layer(input);
  restoring.dense =
      static_cast<RestoreDense>(input.member("dense", "how activations are restored")
                                    .one_of({kRestoreDenseNames[0], kRestoreDenseNames[1]}));
  if (input.has("communication")) {
    restoring.communication = static_cast<RestoreCommunication>(
        input.member("communication", "what becomes of what was sent")
            .one_of({kRestoreCommunicationNames[0], kRestoreCommunicationNames[1]}));
  }
  return restoring;
}

}  // namespace moe
