#include "tuner/planners/lancet/layer_cuts.h"

#include <fmt/format.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/passes/gate_choice.h"
#include "moe/passes/partition_range.h"
#include "moe/passes/pipeline_split.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner {
namespace {

/// The first micro-batch of a MoE layer and of the blocks up to its neighbours, over which no range
/// reaches: cuts of it are taken or refused like those of the whole Program.
moe::Program around_layer(const moe::Program& program, const std::vector<int>& layers, int layer) {
  const auto here = std::ranges::find(layers, layer);
  const int first = here == layers.begin() ? 0 : *std::prev(here);
  moe::Program around = program;
  around.micro_batches = 1;
  std::erase_if(around.ops, [&](const moe::Op& op) {
    const bool behind = std::next(here) != layers.end() && op.layer > *std::next(here);
    return op.micro_batch != 0 || moe::comes_once(op) ||
           (op.layer >= 0 && (op.layer < first || behind));
  });
  return around;
}

/// Why a decision cannot be applied; none where it can.
template <class Decision>
std::optional<moe::Refusal> refusal_of(const moe::Program& program, const Decision& decision) {
  try {
    moe::apply(program, decision);
    return std::nullopt;
  } catch (const moe::Refusal& refusal) {
    return refusal;
  }
}

bool writes(const moe::Op& op, moe::TensorId tensor) {
  return std::ranges::count(op.writes, tensor, &moe::Use::tensor) > 0;
}

/// From the gate, which makes the counts that ranks tell each other, to the last op on routed rows.
OpRange ops_of_layer(const moe::Program& program, const std::vector<std::size_t>& forward,
                     int layer) {
  moe::TensorId counts = -1;
  std::optional<OpRange> range;
  const auto op_at = [&](std::size_t place) -> const moe::Op& {
    return program.ops[forward[place]];
  };
  for (std::size_t place = 0; place < forward.size(); ++place) {
    const moe::Op& op = op_at(place);
    if (op.layer != layer) continue;
    if (moe::counts_of(op) != nullptr) counts = op.reads.front().tensor;
    if (!moe::uses_routed_rows(program, op)) continue;
    if (!range) range = OpRange{place, 0};
    range->end = place + 1;
  }
  for (std::size_t place = 0; place < range->first; ++place) {
    if (op_at(place).layer == layer && writes(op_at(place), counts)) range->first = place;
  }
  return *range;
}

/// The largest of 1 to `limit` that `holds` accepts, found by bisection; 0 if it does not accept 1.
/// It must accept all smaller numbers too.
std::size_t most(std::size_t limit, const auto& holds) {
  std::size_t known = 0;
  while (known < limit) {
    const std::size_t middle = known + (limit - known + 1) / 2;
    if (holds(middle)) {
      known = middle;
    } else {
      limit = middle - 1;
    }
  }
  return known;
}

/// The reason alone, with names of tensors as they are in every block.
std::string reason_in_block(const moe::Refusal& refusal, int layer) {
  std::string text = refusal.reason;
  for (const std::string& known :
       {fmt::format("partition_range: layer {}: ", layer), fmt::format("block{}.", layer)}) {
    if (const auto at = text.find(known); at != std::string::npos) text.erase(at, known.size());
  }
  return text;
}

}  // namespace

std::map<int, LayerCuts> layer_cuts(const moe::Program& program, int most_parts) {
  const std::vector<int> layers = moe_layers(program);
  const std::vector<std::size_t> forward = moe::forward_ops(program, 0);
  const std::int64_t sequences = moe::sequences_of(program);
  std::vector<int> parts;
  for (int count = 2; count <= most_parts; ++count) {
    if (sequences % count == 0) parts.push_back(count);
  }
  std::map<int, LayerCuts> all;
  for (const int layer : layers) {
    LayerCuts& cuts = all[layer];
    cuts.ops = ops_of_layer(program, forward, layer);
    const moe::Program around = around_layer(program, layers, layer);
    const std::vector<std::size_t> near = moe::forward_ops(around, 0);
    const OpRange inner = ops_of_layer(around, near, layer);
    const auto refused = [&](std::size_t before, std::size_t after, int count) {
      return refusal_of(around, moe::PartitionRange{layer, count, static_cast<int>(before),
                                                    static_cast<int>(after)});
    };
    if (parts.empty()) {
      cuts.obstacle = fmt::format(
          "not along the batch: {} sequences of a rank and micro-batch: expected a "
          "number that one of 2 to {} divides",
          sequences, most_parts);
    } else if (const auto why = refused(0, 0, 1)) {  // in one part all rows divide: it is an op
      cuts.obstacle = "not along the batch: " + reason_in_block(*why, layer);
    } else {
      const auto before =
          most(inner.first, [&](std::size_t n) { return !refused(n, 0, parts.front()); });
      const auto after = most(near.size() - inner.end,
                              [&](std::size_t n) { return !refused(0, n, parts.front()); });
      cuts.far = OpRange{cuts.ops.first - before, cuts.ops.end + after};
      cuts.parts = parts;
      if (const auto over = before == 0 ? refused(1, 0, 1) : std::nullopt;
          over && inner.first > 0) {
        const auto gate = moe::refusal_to_cut(around.ops[near[inner.first]]);
        cuts.obstacle =
            "not over the gate: " + (gate ? gate->what() : reason_in_block(*over, layer));
      }
    }
    if (cuts.far && cuts.far->first < cuts.ops.first) continue;  // over the gate: it hides more
    for (int chunks = 2; chunks <= most_parts; ++chunks) {
      if (!refusal_of(around, moe::PipelineSplit{layer, moe::Phase::forward, chunks})) {
        cuts.chunks.push_back(chunks);
      }
    }
  }
  return all;
}

}  // namespace tuner
