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
#include "tuner/scenario/drift.h"

namespace tuner {
namespace {

/// At 20 the second expert gets a millionth of the rows of the first one.
constexpr double kMostExponent = 20;
constexpr int kMostIterations = 1000;
constexpr std::string_view kDrift = "drift:";

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

/// The number that is all of `text`, from 0 to `most`; none for anything else.
std::optional<double> number_in(std::string_view text, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

double parse_exponent(std::string_view text) {
  const std::optional<double> exponent = number_in(text, kMostExponent);
  if (!exponent) {
    throw moe::InputError(fmt::format(
        "routing \"zipf:{}\": expected zipf: and an exponent from 0 to {}, as in zipf:1.2",
        db::shortened(text), kMostExponent));
  }
  return *exponent;
}

/// EXPONENT:SHARE:ITERATIONS
Drift parse_drift(std::string_view text) {
  const std::string_view whole = text;
  const auto next = [&](double most) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::optional<double> number = number_in(text.substr(0, end), most);
    text.remove_prefix(std::min(end + 1, text.size()));
    return number;
  };
  const std::optional<double> exponent = next(kMostExponent), share = next(1);
  const std::optional<double> iterations = next(kMostIterations);
  if (!exponent || !share || !iterations || !text.empty() || whole.ends_with(':') ||
      *iterations < 1 || *iterations != static_cast<int>(*iterations)) {
    throw moe::InputError(fmt::format(
        "routing \"drift:{}\": expected drift:EXPONENT:SHARE:ITERATIONS with an exponent from 0 to "
        "{}, a share from 0 to 1 and 1 to {} iterations, as in drift:1.2:0.05:8",
        db::shortened(whole), kMostExponent, kMostIterations));
  }
  return {*exponent, *share, static_cast<int>(*iterations)};
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
    throw moe::InputError(fmt::format(
        "routing \"{}\": expected uniform, zipf:EXPONENT, drift:EXPONENT:SHARE:ITERATIONS, a file "
        "or a folder",
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

namespace {

/// The *.json files of a folder by the numbers in their names, then by name.
std::vector<std::string> files_in_order(const std::string& folder) {
  std::vector<std::pair<std::vector<long>, std::string>> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string stem = entry.path().stem().string();
    std::vector<long> numbers;
    for (const char* at = stem.data(); at != stem.data() + stem.size();) {
      long number = 0;
      const auto [end, error] = std::from_chars(at, stem.data() + stem.size(), number);
      if (error == std::errc() && *at != '-') numbers.push_back(number);
      at = error == std::errc() && *at != '-' ? end : at + 1;
    }
    files.emplace_back(std::move(numbers), entry.path().string());
  }
  if (files.empty()) {
    throw moe::InputError(
        fmt::format("routing \"{}\": no .json file in this folder: expected one for "
                    "each iteration",
                    db::shortened(folder, 200)));
  }
  std::ranges::sort(files);
  std::vector<std::string> names;
  for (auto& [numbers, name] : files) names.push_back(std::move(name));
  return names;
}

std::vector<moe::Routing> drifting(const std::string& text, const std::vector<GatedLayer>& layers,
                                   const moe::Groups& groups, std::uint64_t seed) {
  const Drift drift = parse_drift(std::string_view(text).substr(kDrift.size()));
  std::vector<moe::Routing> routings(static_cast<std::size_t>(drift.iterations));
  for (const GatedLayer& layer : layers) {
    const int block = layer.at.layer;
    if (layer.full && drift.exponent > 0) refuse_for_full(text, layer, "");
    const auto weights =
        drifting_weights(layer.experts, drift, seed + static_cast<std::uint64_t>(block));
    for (std::size_t i = 0; i < routings.size(); ++i) {
      moe::LayerRouting& one = routings[i].layers.emplace_back(
          moe::weighted_routing(block, 1, weights[i], layer.copies, layer.copies / layer.choices));
      one.micro_batch = layer.at.micro_batch;
      one.alike = moe::stage_ranks(groups);
    }
  }
  return routings;
}

moe::Routing one_routing(const std::string& text, const moe::Program& program,
                         const std::vector<GatedLayer>& layers, const moe::Groups& groups,
                         std::uint64_t seed) {
  constexpr std::string_view zipf = "zipf:";
  moe::Routing routing;
  if (text == "uniform" || text.starts_with(zipf)) {
    std::optional<double> exponent;
    if (text != "uniform") {
      exponent = parse_exponent(std::string_view(text).substr(zipf.size()));
    }
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
  return routing;
}

}  // namespace

std::vector<moe::Routing> make_routings(const std::string& text, const moe::Program& program,
                                        const moe::Groups& groups, std::uint64_t seed) {
  const std::vector<GatedLayer> layers = gated_layers(program);
  std::vector<moe::Routing> routings;
  std::error_code ignored;
  if (text.starts_with(kDrift)) {
    routings = drifting(text, layers, groups, seed);
  } else if (std::filesystem::is_directory(text, ignored)) {
    for (const std::string& file : files_in_order(text)) {
      routings.push_back(one_routing(file, program, layers, groups, seed));
    }
  } else {
    routings.push_back(one_routing(text, program, layers, groups, seed));
  }
  for (moe::Routing& routing : routings) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      fit_capacity(routing.layers[i], layers[i], text);
    }
    routing = moe::exchanged_rows(program, std::move(routing));
  }
  return routings;
}

moe::Routing make_routing(const std::string& text, const moe::Program& program,
                          const moe::Groups& groups, std::uint64_t seed) {
  return std::move(make_routings(text, program, groups, seed).front());
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
