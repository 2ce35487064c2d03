#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "moe/rows/tensor.h"

namespace moe {

/// The unit of routing: a MoE layer in one micro-batch of an iteration, or in one part of the
/// micro-batch (Op::part).
struct RoutedLayer {
  int layer = -1;
  int micro_batch = 0;
  int part = 0;
  friend auto operator<=>(const RoutedLayer&, const RoutedLayer&) = default;
};

/// The routing of one MoE layer in one micro-batch: tokens[source rank][expert], in token copies.
/// Ranks are counted within the layer's pipeline stage.
struct LayerRouting {
  int layer = 0;
  int experts = 0;
  std::vector<std::vector<std::int64_t>> tokens;
  int micro_batch = 0;
  /// The same as `tokens`, with the copies that were dropped over capacity. Empty unless recorded;
  /// no size and no cost depends on it.
  std::vector<std::vector<std::int64_t>> asked = {};
  /// [part][source rank][expert] for the parts that the batch was cut into (Op::part). Empty unless
  /// recorded.
  std::vector<std::vector<std::vector<std::int64_t>>> by_part = {};
  /// How many neighbouring ranks each row of `tokens` is that of: 1, or all of them where every
  /// rank sends alike, so that the routing of thousands of ranks is one row.
  int alike = 1;
};

/// The number of token copies that each rank sends to each expert in one iteration, for every MoE
/// layer. It is recorded from training, read from a file or the database, or synthetic. Every cost
/// and every size depends on it.
struct Routing {
  std::vector<LayerRouting> layers;
};

/// Source ranks of a routing.
int source_ranks(const LayerRouting& routing);
/// The same with a row for each rank.
Routing with_all_rows(Routing routing);
/// [expert]: the copies that a source rank sends.
const std::vector<std::int64_t>& tokens_from(const LayerRouting& routing, int rank);

/// The routing of a layer in a whole micro-batch, whatever the part. Throws std::out_of_range with
/// the layer and micro-batch where there is none.
const LayerRouting& layer_of(const Routing& routing, RoutedLayer wanted);
/// The routing of one part of the batch: the recorded one where the recording has as many parts,
/// else an equal share of every count.
LayerRouting part_of(const LayerRouting& routing, Slice part);

/// One entry for every layer: the sum over its micro-batches. Layers stay in the order in which
/// they first occur.
Routing add_micro_batches(const Routing& routing);
/// Shares every count among `micro_batches`, as evenly as whole copies allow, so that the total of
/// each rank is even too. The layers of the first micro-batch come before those of the second.
Routing share_among_micro_batches(const Routing& whole, int micro_batches);

/// Every source sends the same number of copies to every expert, remainders to the first experts.
/// `copies` is tokens per rank x choices (top-k).
LayerRouting uniform_routing(int layer, int ranks, int experts, std::int64_t copies);

/// Copies in proportion to the experts' weights, the same from every source rank. An expert gets at
/// most `most` copies from each rank; the rest goes to the other experts in proportion. Throws
/// std::invalid_argument where they have no room.
LayerRouting weighted_routing(int layer, int ranks, std::vector<double> weights,
                              std::int64_t copies, std::optional<std::int64_t> most = {});

/// Expert popularity is proportional to 1 / place^exponent, where `seed` shuffles the places; it is
/// the same for every source rank. `most`: the tokens of a rank, since a token chooses an expert
/// once. Throws as weighted_routing().
LayerRouting zipf_routing(int layer, int ranks, int experts, std::int64_t copies, double exponent,
                          std::uint64_t seed, std::optional<std::int64_t> most = {});

}  // namespace moe
