#include "tuner/scenario/routing_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "db/load.h"
#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/input/value.h"
#include "moe/program/row_handling.h"

namespace tuner {
namespace {

/// At 20 the second expert gets a millionth of the rows of the first one.
constexpr double kMostExponent = 20;

struct GatedLayer {
  moe::RoutedLayer at;
  int experts = 0;
  std::int64_t copies = 0;  ///< copies that are asked for on each rank
  int choices = 1;          ///< the most choices of a token
  /// Rows of an expert from each rank at most; where all experts are full whatever tokens ask for,
  /// just so many.
  std::optional<std::int64_t> capacity{};
  bool full = false;
};

std::optional<GatedLayer> gated_layer(const moe::Program& program, const moe::Op& op) {
  const auto tokens = [&] { return program.tensors[op.reads.at(0).tensor].rows; };
  if (const auto* gate = std::get_if<moe::SelectExperts>(&op.kind)) {
    GatedLayer layer{moe::routed_layer(op), gate->experts, tokens() * gate->choices, gate->choices};
    if (gate->capacity) layer.capacity = *gate->capacity * gate->capacity_groups;
    return layer;
  }
  const auto full = [&](const auto& gate) {
    const std::int64_t rows = gate.slots * gate.groups;
    return GatedLayer{moe::routed_layer(op), gate.experts, rows * gate.experts,
                      gate.experts,          rows,         true};
  };
  if (const auto* gate = std::get_if<moe::ChooseTokens>(&op.kind)) return full(*gate);
  if (const auto* gate = std::get_if<moe::SoftSlots>(&op.kind)) return full(*gate);
  return std::nullopt;
}

std::vector<GatedLayer> gated_layers(const moe::Program& program) {
  std::vector<GatedLayer> layers;
  for (const moe::Op& op : program.ops) {
    if (const auto layer = gated_layer(program, op)) layers.push_back(*layer);
  }
  return layers;
}

/// A gate that fills every expert leaves nothing to ask for.
[[noreturn]] void refuse_for_full(const std::string& asked, const GatedLayer& layer,
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

double parse_exponent(std::string_view text) {
  double exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(exponent >= 0 && exponent <= kMostExponent)) {
    throw moe::InputError(fmt::format(
        "routing \"zipf:{}\": expected zipf: and an exponent from 0 to {}, as in zipf:1.2",
        db::shortened(text), kMostExponent));
  }
  return exponent;
}

/// A routing for `micro_batches`: the same where it has as many, else that of the whole iteration
/// shared among them.
moe::Routing of_micro_batches(moe::Routing routing, int micro_batches) {
  int found = 1;
  for (const moe::LayerRouting& layer : routing.layers) {
    found = std::max(found, layer.micro_batch + 1);
  }
  if (found == micro_batches) return routing;
  return moe::share_among_micro_batches(moe::add_micro_batches(routing), micro_batches);
}

moe::Routing read_routing(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw moe::InputError(fmt::format("routing \"{}\": expected uniform, zipf:EXPONENT or a file",
                                      db::shortened(path, 200)));
  }
  return moe::routing_from_json(moe::read_file(path), path);
}

/// Takes the counts of the program's layers, in its order.
moe::Routing fitted(const moe::Routing& routing, const std::vector<GatedLayer>& layers,
                    const moe::Groups& groups, const std::string& path) {
  moe::Routing result;
  for (const GatedLayer& wanted : layers) {
    const auto found = std::find_if(
        routing.layers.begin(), routing.layers.end(), [&](const moe::LayerRouting& layer) {
          return layer.layer == wanted.at.layer && layer.micro_batch == wanted.at.micro_batch;
        });
    if (found == routing.layers.end()) {
      throw moe::InputError(fmt::format(
          "{}: no routing for layer {}{}", path, wanted.at.layer,
          wanted.at.micro_batch > 0 ? fmt::format(", micro-batch {}", wanted.at.micro_batch) : ""));
    }
    if (found->experts != wanted.experts ||
        found->tokens.size() != static_cast<std::size_t>(moe::stage_ranks(groups))) {
      throw moe::InputError(
          fmt::format("{}: layer {}: {} experts on {} ranks expected, got {} experts on {} ranks",
                      path, wanted.at.layer, wanted.experts, moe::stage_ranks(groups),
                      found->experts, found->tokens.size()));
    }
    result.layers.push_back(*found);
    if (wanted.full) continue;  // fit_capacity checks these
    const std::int64_t tokens = wanted.copies / wanted.choices;
    for (std::size_t rank = 0; rank < found->tokens.size(); ++rank) {
      const auto& row = found->tokens[rank];
      const std::int64_t sent = std::accumulate(row.begin(), row.end(), std::int64_t{0});
      if (sent > wanted.copies) {
        throw moe::InputError(fmt::format(
            "{}: layer {}: rank {} sends {} copies, expected at most {} ({} of each token)", path,
            wanted.at.layer, rank, sent, wanted.copies, wanted.choices));
      }
      const auto most = std::max_element(row.begin(), row.end());
      if (*most > tokens) {
        throw moe::InputError(
            fmt::format("{}: layer {}: rank {} sends expert {} {} copies, expected at most {}, one "
                        "of each of its tokens",
                        path, wanted.at.layer, rank, most - row.begin(), *most, tokens));
      }
    }
  }
  return result;
}

}  // namespace

moe::Routing make_routing(const std::string& text, const moe::Program& program,
                          const moe::Groups& groups, std::uint64_t seed) {
  const std::vector<GatedLayer> layers = gated_layers(program);
  constexpr std::string_view zipf = "zipf:";
  moe::Routing routing;
  if (text == "uniform" || text.starts_with(zipf)) {
    const std::optional<double> exponent =
        text == "uniform"
            ? std::nullopt
            : std::optional(parse_exponent(std::string_view(text).substr(zipf.size())));
    for (const GatedLayer& layer : layers) {
      const int experts = layer.experts, block = layer.at.layer;
      if (layer.full && exponent.value_or(0) > 0) refuse_for_full(text, layer, "");
      routing.layers.push_back(exponent
                                   ? moe::zipf_routing(block, 1, experts, layer.copies, *exponent,
                                                       seed + static_cast<std::uint64_t>(block),
                                                       layer.copies / layer.choices)
                                   : moe::uniform_routing(block, 1, experts, layer.copies));
      routing.layers.back().micro_batch = layer.at.micro_batch;
      routing.layers.back().alike = moe::stage_ranks(groups);
    }
  } else {
    routing =
        fitted(of_micro_batches(read_routing(text), program.micro_batches), layers, groups, text);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    fit_capacity(routing.layers[i], layers[i], text);
  }
  return moe::exchanged_rows(program, std::move(routing));
}

moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              int micro_batches) {
  std::map<std::pair<int, int>, moe::LayerRouting> parts;  // by micro-batch and layer
  db::LoadFilter filter;
  filter.run_id = run_id;
  filter.first_iteration = iteration;
  filter.last_iteration = iteration;
  for (const db::Load& load : db::load_loads(connection, filter)) {
    const int micro_batch = std::max(load.micro_batch, 0);
    moe::LayerRouting& layer = parts[{micro_batch, load.layer}];
    layer.layer = load.layer;
    layer.micro_batch = micro_batch;
    const auto rank = static_cast<std::size_t>(load.rank);
    const auto expert = static_cast<std::size_t>(load.expert);
    if (layer.tokens.size() <= rank) layer.tokens.resize(rank + 1);
    if (layer.tokens[rank].size() <= expert) layer.tokens[rank].resize(expert + 1);
    layer.tokens[rank][expert] = load.tokens;
    layer.experts = std::max(layer.experts, load.expert + 1);
  }
  if (parts.empty()) {
    throw db::Error(db::ErrorKind::not_found,
                    fmt::format("run {}: no loads of iteration {}", run_id, iteration));
  }
  moe::Routing routing;
  // Ranks are counted within the layer's stage, whose first may be any rank of the world.
  for (auto& [key, layer] : parts) {
    const auto first = std::find_if(layer.tokens.begin(), layer.tokens.end(),
                                    [](const auto& row) { return !row.empty(); });
    layer.tokens.erase(layer.tokens.begin(), first);
    routing.layers.push_back(std::move(layer));
  }
  return of_micro_batches(std::move(routing), micro_batches);
}

}  // namespace tuner
