#include "moe/passes/restored_rows.h"

#include <algorithm>
#include <utility>

namespace moe {
namespace {

class Restoring {
 public:
  Restoring(const Program& program, const RestoreActivation& restoring, const ChunkOps& forward,
            const ChunkOps& backward)
      : program_(program),
        restoring_(restoring),
        forward_(all_of(forward)),
        backward_(all_of(backward)) {}

  RestoredRows rows() {
    find_what_experts_make();
    for (const std::vector<Op>* ops : {&forward_, &backward_}) find_received(*ops);
    find_what_backward_reads();
    repeat_forward(stay_or_offload());
    return std::move(rows_);
  }

 private:
  bool is_received(const Use& use) const {
    return moe::is_received(program_, restoring_.layer, use);
  }

  void find_what_experts_make() {
    for (const Op& op : forward_) {
      const bool experts = std::holds_alternative<ExpertLinear>(op.kind) ||
                           std::any_of(op.reads.begin(), op.reads.end(), [&](const Use& use) {
                             return rows_.of_experts.contains(use.tensor);
                           });
      for (const Use& use : op.writes) {
        written_.insert(use.tensor);
        if (experts) rows_.of_experts.insert(use.tensor);
      }
    }
  }

  void find_received(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      for (const auto* uses : {&op.reads, &op.writes}) {
        for (const Use& use : *uses) {
          if (!is_received(use)) continue;
          rows_.received.insert(use.tensor);
          if (is_communication(op)) rows_.exchanged.insert(use.tensor);
        }
      }
    }
  }

  void find_what_backward_reads() {
    for (const Op& op : backward_) {
      for (const Use& use : op.reads) {
        if (!written_.contains(use.tensor)) continue;
        (is_received(use) ? kept_ : available_).insert(use.tensor);
      }
    }
  }

  bool stays(TensorId tensor) const {
    return rows_.of_experts.contains(tensor) ? restoring_.hidden == RestoreHidden::keep
                                             : restoring_.dispatched == RestoreDispatched::keep;
  }

  /// True for the output of an element-wise op that reads only rows that backward needs too.
  bool is_made_again_easily(TensorId tensor) const {
    for (const Op& op : forward_) {
      if (!writes_any_of(op, {tensor})) continue;
      return !is_communication(op) && facts_of(op).unit == CostUnit::bytes &&
             std::all_of(op.reads.begin(), op.reads.end(), [&](const Use& use) {
               return !is_received(use) || kept_.contains(use.tensor);
             });
    }
    return false;
  }

  bool is_to_be_offloaded(TensorId tensor) const {
    if (!rows_.of_experts.contains(tensor)) {
      return restoring_.dispatched == RestoreDispatched::offload;
    }
    return restoring_.hidden == RestoreHidden::offload && !is_made_again_easily(tensor);
  }

  /// Rows that neither stay nor are offloaded.
  std::set<TensorId> stay_or_offload() {
    std::set<TensorId> others;
    for (const TensorId tensor : kept_) {
      if (stays(tensor)) {
        rows_.staying.insert(tensor);
        available_.insert(tensor);
      } else if (is_to_be_offloaded(tensor)) {
        rows_.offloaded.push_back(tensor);
      } else {
        others.insert(tensor);
      }
    }
    return others;
  }

  /// Goes backwards through the forward ops of a chunk: every op that makes a wanted tensor is
  /// repeated.
  void repeat_forward(std::set<TensorId> wanted) {
    for (std::size_t i = forward_.size(); i-- > 0;) {
      if (!writes_any_of(forward_[i], wanted)) continue;
      rows_.repeated.insert(i);
      for (const Use& use : forward_[i].writes) {
        wanted.erase(use.tensor);
        rows_.made_by_those.insert(use.tensor);
      }
      for (const Use& use : forward_[i].reads) {
        const bool is_there = available_.contains(use.tensor) || is_offloaded(rows_, use.tensor);
        if (program_.tensors[use.tensor].rows_are != Rows::fixed && !is_there) {
          wanted.insert(use.tensor);
        }
      }
    }
  }

  const Program& program_;
  const RestoreActivation& restoring_;
  std::vector<Op> forward_, backward_;
  RestoredRows rows_;
  std::set<TensorId> written_;    ///< the tensors that forward writes
  std::set<TensorId> kept_;       ///< received rows of forward that backward reads
  std::set<TensorId> available_;  ///< routed rows of forward that exist in backward
};

}  // namespace

bool is_offloaded(const RestoredRows& rows, TensorId tensor) {
  return std::find(rows.offloaded.begin(), rows.offloaded.end(), tensor) != rows.offloaded.end();
}

RestoredRows restored_rows(const Program& program, const RestoreActivation& restoring,
                           const ChunkOps& forward, const ChunkOps& backward) {
  return Restoring(program, restoring, forward, backward).rows();
}

}  // namespace moe
