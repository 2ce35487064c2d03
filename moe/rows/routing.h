#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/rows/tensor.h"

namespace moe {

/// A MoE layer in one micro-batch of an iteration, or in a part of it (Op::part): what is routed at once.
struct RoutedLayer {
  int layer = -1;
  int micro_batch = 0;
  int part = 0;
  friend auto operator<=>(const RoutedLayer&, const RoutedLayer&) = default;
};

/// Token copies that travel: tokens[source rank][expert] of one MoE layer in one micro-batch, ranks counted
/// within the layer's pipeline stage.
struct LayerRouting {
  int layer = 0;
  int experts = 0;
  std::vector<std::vector<std::int64_t>> tokens;
  int micro_batch = 0;
  /// What gates asked for: the same with the copies that were dropped over capacity. Only where it was
  /// recorded; nothing is sized or costed by it.
  std::vector<std::vector<std::int64_t>> asked = {};
  /// [part][source rank][expert]: of the parts that the batch was cut into (Op::part), where that was recorded.
  std::vector<std::vector<std::vector<std::int64_t>>> by_part = {};
};

/// Who sends how much to whom in one iteration, for every MoE layer. Recorded from training, read
/// from a file or the database, or synthetic; every cost and every size depends on it.
struct Routing {
  std::vector<LayerRouting> layers;
};

/// That of `wanted` in all its micro-batch. Throws std::out_of_range naming it.
const LayerRouting& layer_of(const Routing& routing, RoutedLayer wanted);
/// Of one part of the batch: as it was recorded in as many parts, an equal share of every count otherwise.
LayerRouting part_of(const LayerRouting& routing, Slice part);

/// Of every layer one, its micro-batches added up, in the order of their first ones.
Routing add_micro_batches(const Routing& routing);
/// Every count, and what each rank sends in all, shared out over `micro_batches` as evenly as whole copies can be;
/// the layers of the first micro-batch before those of the second.
Routing share_among_micro_batches(const Routing& whole, int micro_batches);

/// Every source sends the same to every expert: `copies` = tokens per rank × choices, remainders to
/// the first experts.
LayerRouting uniform_routing(int layer, int ranks, int experts, std::int64_t copies);

/// Expert popularity ~ 1 / rank^exponent, shuffled by seed; every source rank draws the same
/// popularity. An expert gets at most `most` from each (the tokens of a rank: a token chooses an expert once); what is
/// beyond goes to the others in proportion. Throws std::invalid_argument where they have no room.
LayerRouting zipf_routing(int layer, int ranks, int experts, std::int64_t copies, double exponent,
                          std::uint64_t seed, std::optional<std::int64_t> most = {});

std::string to_json(const Routing& routing);
/// Reads {"layers": [{"layer": 1, "tokens": [[per expert ...], per rank ...]}]}, each with a "micro_batch"
/// where there are several. Throws InputError "NAME:LINE: key: expected ..." for a layer that is there twice, ranks of different numbers of
/// experts and more than 2^32 copies in a layer.
Routing routing_from_json(std::string_view json, const std::string& name = "routing");

}  // namespace moe
