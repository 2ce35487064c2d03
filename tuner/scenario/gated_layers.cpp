#include "tuner/scenario/gated_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "db/console/shown_text.h"
#include "moe/errors.h"

namespace tuner {
namespace {

std::optional<GatedLayer> gated_layer(const moe::Program& program, const moe::Op& op) {
  const auto tokens = [&] { return program.tensors[op.reads.at(0).tensor].rows; };
  if (const auto* gate = std::get_if<moe::SelectExperts>(&op.kind)) {
    GatedLayer layer{moe::routed_layer(op), gate->experts, tokens() * gate->choices, gate->choices};
    layer.capacity_groups = gate->capacity_groups;
    if (gate->capacity) layer.capacity = *gate->capacity * gate->capacity_groups;
    return layer;
  }
  const auto full = [&](const auto& gate) {
    const std::int64_t rows = gate.slots * gate.groups;
    return GatedLayer{moe::routed_layer(op), gate.experts, rows * gate.experts, gate.experts, rows,
                      gate.groups,           true};
  };
  if (const auto* gate = std::get_if<moe::ChooseTokens>(&op.kind)) return full(*gate);
  if (const auto* gate = std::get_if<moe::SoftSlots>(&op.kind)) return full(*gate);
  return std::nullopt;
}

}  // namespace

std::vector<GatedLayer> gated_layers(const moe::Program& program) {
  std::vector<GatedLayer> layers;
  for (const moe::Op& op : program.ops) {
    if (const auto layer = gated_layer(program, op)) layers.push_back(*layer);
  }
  return layers;
}

std::string in_words(moe::RoutedLayer at) {
  return at.micro_batch > 0 ? fmt::format("layer {}, micro-batch {}", at.layer, at.micro_batch)
                            : fmt::format("layer {}", at.layer);
}

void refuse_for_full(const std::string& asked, const GatedLayer& layer,
                     const std::string& instead) {
  throw moe::InputError(fmt::format(
      "routing \"{}\": the gate of layer {} gives every expert {} copies from every rank whatever "
      "its tokens are{}: expected uniform",
      db::shortened(asked, 200), layer.at.layer, layer.capacity.value_or(0), instead));
}

void fit_capacity(moe::LayerRouting& routing, const GatedLayer& layer, const std::string& asked) {
  if (!layer.capacity) return;
  for (std::size_t rank = 0; rank < routing.tokens.size(); ++rank) {
    for (std::int64_t& tokens : routing.tokens[rank]) {
      if (layer.full && tokens != *layer.capacity) {
        refuse_for_full(asked, layer, fmt::format(", not {} from rank {}", tokens, rank));
      }
      tokens = std::min(tokens, *layer.capacity);
    }
  }
}

}  // namespace tuner
