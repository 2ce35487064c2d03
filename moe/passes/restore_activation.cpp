#include "moe/passes/restore_activation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/chunk_buffers.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/layer_chunks.h"
#include "moe/passes/op_edits.h"
#include "moe/passes/pipeline_split.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/restored_rows.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

std::string described(const RestoreActivation& restoring) {
  return fmt::format("restore_activation: {}, {} (layer {})",
                     kDispatchedNames[static_cast<std::size_t>(restoring.dispatched)],
                     kHiddenNames[static_cast<std::size_t>(restoring.hidden)], restoring.layer);
}

[[noreturn]] void refuse_restoring(const RestoreActivation& restoring, std::string_view why,
                                   std::string way_out, std::string op = {}) {
  throw Refusal(described(restoring), why, std::move(way_out), {std::move(op), restoring.layer});
}

/// The Program whose layers are rewritten, as it was before any of it. The ops of all layers are
/// changed at once, so that places of ops hold.
struct Layers {
  Program& program;
  OpEdits edits{program.ops};
  std::map<LayerPhase, std::vector<std::size_t>> places;  ///< of the ops, ascending
  /// [tensor]: the first op of backward that writes it; the number of ops where none does.
  std::vector<std::size_t> first_in_backward;

  explicit Layers(Program& of) : program(of), first_in_backward(of.tensors.size(), of.ops.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      places[{op.layer, op.micro_batch, op.phase}].push_back(i);
      if (op.phase != Phase::backward) continue;
      for (const Use& use : op.writes) {
        std::size_t& first = first_in_backward[use.tensor];
        first = std::min(first, i);
      }
    }
  }
};

/// The rewrite of one micro-batch of the layer.
class BufferSharing {
 public:
  BufferSharing(Layers& all, const RestoreActivation& restoring, int micro_batch)
      : all_(all), program_(all.program), restoring_(restoring), micro_batch_(micro_batch) {}

  /// False where the micro-batch has no ops of the layer.
  bool rewrite() {
    check();
    forward_ = take_chunks(program_, places(Phase::forward), all_.edits);
    backward_ = take_chunks(program_, places(Phase::backward), all_.edits);
    if (forward_.chunks.empty()) return false;
    count_ = static_cast<int>(forward_.chunks.size());
    if (backward_.chunks.size() != forward_.chunks.size()) {
      refuse_restoring(
          restoring_,
          fmt::format("{} chunks forward, {} backward", count_, backward_.chunks.size()),
          "expected pipeline_split into as many of both phases");
    }
    rows_ = restored_rows(program_, restoring_, forward_.chunks.front(), backward_.chunks.front());
    make_buffers();
    emit();
    return true;
  }

 private:
  // --- the ops and tensors of the layer ---

  std::span<const std::size_t> places(Phase phase) const {
    return all_.places[{restoring_.layer, micro_batch_, phase}];
  }
  bool is_received(const Use& use) const {
    return moe::is_received(program_, restoring_.layer, use);
  }

  void check() const {
    std::vector<std::size_t> ops;
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
      std::ranges::copy(places(phase), std::back_inserter(ops));
    }
    std::ranges::sort(ops);
    for (const std::size_t place : ops) {
      const Op& op = program_.ops[place];
      const bool cut = follows_routed_rows(program_, op);
      const ExchangeCounts* counts = counts_of(op);
      if (counts != nullptr && counts->ranks_per_group > 0) {
        refuse_restoring(restoring_, "the layer is cut by groups of ranks",
                         "expected pipeline_split without ranks_per_group", op.name);
      }
      if (balances_rows(op)) {
        refuse_restoring(restoring_, "several ranks share out the rows of an expert",
                         "expected replicate_experts with rows_of_others home or spread", op.name);
      }
      if (cut && op.part.count != 1) {
        refuse_restoring(restoring_, "the layer is cut along the batch (partition_range)",
                         "expected pipeline_split of it", op.name);
      }
      for (const auto* uses : {&op.reads, &op.writes}) {
        for (const Use& use : *uses) {
          if (program_.tensors[use.tensor].rows_are == Rows::gathered) {
            refuse_restoring(restoring_, "ranks share its experts",
                             "expected a layout with esp = 1", op.name);
          }
          if (!cut && is_received(use)) {
            refuse_restoring(restoring_,
                             fmt::format("\"{}\" needs all received rows at once", op.name),
                             "expected this layer to keep its rows", op.name);
          }
        }
      }
    }
  }

  // --- buffers ---

  int buffers_of(TensorId tensor) const {
    int buffers = rows_.exchanged.contains(tensor) ? 2 : 1;
    if (is_offloaded(rows_, tensor)) {
      buffers = rows_.of_experts.contains(tensor) ? restoring_.hidden_buffers : 2;
    }
    return std::min(buffers, count_);
  }

  void make_buffers() {
    // The buffers of backward first: they are copies of the tensors, which are still as they were.
    std::set<TensorId> restored = rows_.made_by_those;
    restored.insert(rows_.offloaded.begin(), rows_.offloaded.end());
    for (const TensorId tensor : restored) {
      if (rows_.received.contains(tensor)) {
        backward_rings_[tensor] =
            make_ring(program_, tensor, count_, buffers_of(tensor), ".restored", false);
      } else {
        Tensor again = program_.tensors[tensor];
        again.name += ".again";
        program_.tensors.push_back(std::move(again));
        backward_rings_[tensor] = {static_cast<TensorId>(program_.tensors.size()) - 1};
      }
    }
    for (const TensorId tensor : rows_.offloaded) {
      host_rings_[tensor] = make_ring(program_, tensor, count_, count_, ".offloaded", false);
      for (const TensorId host : host_rings_[tensor]) {
        program_.tensors[host].pool = Pool::host;
      }
    }
    for (const TensorId tensor : rows_.received) {
      const int buffers = rows_.staying.contains(tensor) ? count_ : buffers_of(tensor);
      forward_rings_[tensor] = make_ring(program_, tensor, count_, buffers, "", true);
    }
  }

  /// The buffer that an op of `phase` uses instead.
  TensorId instead_of(TensorId tensor, Phase phase, int chunk) const {
    if (phase == Phase::backward) {
      const auto restored = backward_rings_.find(tensor);
      if (restored != backward_rings_.end()) return buffer_of(restored->second, chunk);
    }
    const auto ring = forward_rings_.find(tensor);
    return ring == forward_rings_.end() ? tensor : buffer_of(ring->second, chunk);
  }

  Op with_buffers(Op op, Phase phase) const {
    for (auto* uses : {&op.reads, &op.writes}) {
      for (Use& use : *uses) use.tensor = instead_of(use.tensor, phase, op.chunk.index);
    }
    return op;
  }

  // --- the new ops ---

  Op copy_op(OpKind kind, const std::string& name, const Op& like, int chunk) const {
    Op op;
    op.kind = std::move(kind);
    op.name = name;
    op.layer = restoring_.layer;
    op.phase = like.phase;
    op.chunk = like.chunk.count > 1 ? Slice{chunk, like.chunk.count} : Slice{};
    op.stream = Stream::copy;
    op.micro_batch = micro_batch_;
    op.stage = like.stage;
    return op;
  }

  Op offload(TensorId tensor, int chunk) const {
    Op op = copy_op(OffloadRows{}, "offload " + program_.tensors[tensor].name,
                    forward_.chunks.front().compute.front(), chunk);
    const Slice slice{chunk, count_};
    op.reads = {{buffer_of(forward_rings_.at(tensor), chunk), slice}};
    op.writes = {{buffer_of(host_rings_.at(tensor), chunk), slice}};
    return op;
  }

  Op fetch(TensorId tensor, int chunk) const {
    Op op = copy_op(FetchRows{}, "fetch " + program_.tensors[tensor].name,
                    backward_.chunks.front().compute.front(), chunk);
    const Slice slice{chunk, count_};
    op.reads = {{buffer_of(host_rings_.at(tensor), chunk), slice}, {arrival_of_backward(), {}}};
    op.writes = {{buffer_of(backward_rings_.at(tensor), chunk), slice}};
    return op;
  }

  /// The gradient that reaches the layer in backward. Nothing needs to be fetched before it exists.
  TensorId arrival_of_backward() const {
    for (const Op& op : backward_.chunks.front().send) {
      for (const Use& use : op.reads) {
        const Tensor& tensor = program_.tensors[use.tensor];
        if (tensor.rows_are != Rows::fixed || tensor.role != Role::activation) continue;
        if (all_.first_in_backward[use.tensor] < backward_.place) return use.tensor;
      }
    }
    refuse_restoring(
        restoring_, "no op of its backward reads a gradient of tokens",
        "expected \"communicate\" and \"recompute\", or \"keep\", in place of \"offload\"");
  }

  /// The repeated ops of a chunk, divided after the last exchange among them.
  std::pair<std::vector<Op>, std::vector<Op>> repeats(int chunk) const {
    const std::vector<Op> ops = all_of(forward_.chunks[chunk]);
    std::pair<std::vector<Op>, std::vector<Op>> result;
    for (const std::size_t i : rows_.repeated) {
      result.second.push_back(repeated(with_buffers(ops[i], Phase::backward)));
      if (!is_communication(result.second.back())) continue;
      std::move(result.second.begin(), result.second.end(), std::back_inserter(result.first));
      result.second.clear();
    }
    return result;
  }

  void append(std::vector<Op>& out, const std::vector<Op>& ops, Phase phase) const {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      out.push_back(with_buffers(ops[i], phase));
      if (phase == Phase::backward) continue;
      for (const Use& use : ops[i].writes) {
        // An exchange in steps writes several times.
        const bool complete =
            std::none_of(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, ops.end(),
                         [&](const Op& later) { return writes_any_of(later, {use.tensor}); });
        if (complete && is_offloaded(rows_, use.tensor)) {
          out.push_back(offload(use.tensor, ops[i].chunk.index));
        }
      }
    }
  }

  const ChunkOps& chunk_of(const LayerChunks& phased, int chunk) const {
    return phased.chunks[chunk];
  }

  std::vector<Op> forward_ops() const {
    std::vector<Op> out;
    const auto stage = [&](std::vector<Op> ChunkOps::*which, int chunk) {
      if (chunk >= 0 && chunk < count_) {
        append(out, chunk_of(forward_, chunk).*which, Phase::forward);
      }
    };
    stage(&ChunkOps::send, 0);
    stage(&ChunkOps::send, 1);
    for (int c = 0; c < count_; ++c) {
      stage(&ChunkOps::compute, c);
      stage(&ChunkOps::back, c);
      stage(&ChunkOps::home, c - 1);
      stage(&ChunkOps::send, c + 2);
    }
    stage(&ChunkOps::home, count_ - 1);
    return out;
  }

  std::vector<Op> backward_ops() const {
    std::vector<Op> out;
    const auto stage = [&](std::vector<Op> ChunkOps::*which, int chunk) {
      if (chunk >= 0 && chunk < count_) {
        append(out, chunk_of(backward_, chunk).*which, Phase::backward);
      }
    };
    const auto send = [&](int chunk) {
      if (chunk >= count_) return;
      // Ops that are repeated can run while the gradient travels; without them the gradient is
      // needed first.
      const bool first = restoring_.hidden == RestoreHidden::recompute;
      if (!first) stage(&ChunkOps::send, chunk);
      std::ranges::move(repeats(chunk).first, std::back_inserter(out));
      if (first) stage(&ChunkOps::send, chunk);
    };
    const auto fetch_into_buffers_of = [&](int done) {
      for (const int ahead : {1, 2}) {
        for (const TensorId tensor : rows_.offloaded) {
          const int buffers = static_cast<int>(backward_rings_.at(tensor).size());
          const bool turn = done < 0 ? ahead <= buffers : ahead == buffers;
          const int chunk = done < 0 ? ahead - 1 : done + ahead;
          if (turn && chunk < count_) out.push_back(fetch(tensor, chunk));
        }
      }
    };
    fetch_into_buffers_of(-1);
    send(0);
    send(1);
    for (int c = 0; c < count_; ++c) {
      std::ranges::move(repeats(c).second, std::back_inserter(out));
      stage(&ChunkOps::compute, c);
      stage(&ChunkOps::back, c);
      stage(&ChunkOps::weights, c);
      fetch_into_buffers_of(c);
      stage(&ChunkOps::home, c - 1);
      send(c + 2);
    }
    stage(&ChunkOps::home, count_ - 1);
    return out;
  }

  void emit() {
    std::vector<Op> forward = forward_ops();
    all_.edits.put_before(backward_.place, backward_ops());
    if (!rows_.offloaded.empty()) {
      Op await =
          copy_op(AwaitCopies{}, "await offloaded rows", forward_.chunks.back().compute.front(), 0);
      await.chunk = {};
      await.stream = Stream::compute;
      const Slice last{count_ - 1, count_};
      for (const TensorId tensor : rows_.offloaded) {
        await.reads.push_back({buffer_of(host_rings_.at(tensor), count_ - 1), last});
      }
      // After all of the layer's forward.
      std::size_t end = forward_.place;
      for (const std::size_t place : places(Phase::forward)) {
        if (!all_.edits.is_taken(place)) end = std::max(end, place);
      }
      if (end > forward_.place) {
        all_.edits.put_behind(end, {std::move(await)});
      } else {
        forward.push_back(std::move(await));
      }
    }
    all_.edits.put_before(forward_.place, std::move(forward));
  }

  Layers& all_;
  Program& program_;
  const RestoreActivation& restoring_;
  int micro_batch_;
  int count_ = 1;
  LayerChunks forward_, backward_;
  RestoredRows rows_;
  std::map<TensorId, Ring> forward_rings_, backward_rings_, host_rings_;
};

/// Layers that are not cut are cut into one chunk: it is checked like several, and has the same
/// order.
Program cut_all(Program program, std::span<const RestoreActivation> layers) {
  std::set<std::pair<int, Phase>> cut;
  for (const Op& op : program.ops) {
    if (op.chunk.count > 1) cut.insert({op.layer, op.phase});
  }
  std::vector<PipelineSplit> splits;
  for (const RestoreActivation& restoring : layers) {
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      if (!cut.contains({restoring.layer, phase})) splits.push_back({restoring.layer, phase, 1});
    }
  }
  try {
    return apply_all(std::move(program), splits);
  } catch (const Refusal& refusal) {
    const auto of = std::ranges::find(layers, refusal.where.layer, &RestoreActivation::layer);
    throw of == layers.end() ? refusal : within(described(*of), refusal);
  }
}

}  // namespace

Program apply(Program program, const RestoreActivation& restoring) {
  return apply_all(std::move(program), std::span(&restoring, 1));
}

Program apply_all(Program program, std::span<const RestoreActivation> layers) {
  for (const RestoreActivation& restoring : layers) {
    if (restoring.hidden_buffers >= 1 && restoring.hidden_buffers <= 2) continue;
    refuse_restoring(restoring, fmt::format("hidden_buffers = {}", restoring.hidden_buffers),
                     "expected 1 or 2");
  }
  program = cut_all(std::move(program), layers);
  Layers all(program);
  for (const RestoreActivation& restoring : layers) {
    bool found = false;
    for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
      found = BufferSharing(all, restoring, micro_batch).rewrite() || found;
    }
    if (!found) refuse_restoring(restoring, "no experts there", expected_moe_layer(program));
  }
  all.edits.make();
  return program;
}

std::string subject(const RestoreActivation& restoring) { return std::to_string(restoring.layer); }

void write(nlohmann::json& object, const RestoreActivation& restoring) {
  object["layer"] = restoring.layer;
  object["dispatched"] = kDispatchedNames[static_cast<std::size_t>(restoring.dispatched)];
  object["hidden"] = kHiddenNames[static_cast<std::size_t>(restoring.hidden)];
  object["hidden_buffers"] = restoring.hidden_buffers;
}

RestoreActivation RestoreActivation::read(const InputObject& input) {
  RestoreActivation restoring;
  restoring.layer = read_layer(input);
  restoring.dispatched = static_cast<RestoreDispatched>(
      input.member("dispatched", "how rows are restored")
          .one_of({kDispatchedNames[0], kDispatchedNames[1], kDispatchedNames[2]}));
  restoring.hidden =
      static_cast<RestoreHidden>(input.member("hidden", "how rows are restored")
                                     .one_of({kHiddenNames[0], kHiddenNames[1], kHiddenNames[2]}));
  if (input.has("hidden_buffers")) {
    restoring.hidden_buffers = static_cast<int>(input.integer("hidden_buffers", 1, 2));
  }
  return restoring;
}

}  // namespace moe
