#include "tuner/scenario/routing_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "db/console/shown_text.h"
#include "db/error.h"
#include "db/load.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "tuner/scenario/drift.h"
#include "tuner/scenario/gated_layers.h"
#include "tuner/scenario/routing_of_file.h"

namespace tuner {
namespace {

/// At 20 the second expert gets a millionth of the rows of the first one.
constexpr double kMostExponent = 20;
constexpr int kMostIterations = 1000;
constexpr std::string_view kUniform = "uniform", kZipf = "zipf:", kDrift = "drift:";

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

void expect_file(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return;
  throw moe::InputError(
      fmt::format("routing \"{}\": expected uniform, zipf:EXPONENT, "
                  "drift:EXPONENT:SHARE:ITERATIONS, a file or a folder",
                  db::shortened(text, 200)));
}

moe::Routing one_routing(const std::string& text, const moe::Program& program,
                         const std::vector<GatedLayer>& layers, const moe::Groups& groups,
                         std::uint64_t seed, const SayRouting& say) {
  moe::Routing routing;
  const bool uniform = text == kUniform;
  if (uniform || text.starts_with(kZipf)) {
    const double exponent =
        uniform ? 0 : parse_exponent(std::string_view(text).substr(kZipf.size()));
    for (const GatedLayer& layer : layers) {
      const int experts = layer.experts, block = layer.at.layer;
      if (layer.full && exponent > 0) refuse_for_full(text, layer, "");
      routing.layers.push_back(
          uniform ? moe::uniform_routing(block, 1, experts, layer.copies)
                  : moe::zipf_routing(block, 1, experts, layer.copies, exponent,
                                      seed + static_cast<std::uint64_t>(block), layer.tokens()));
      routing.layers.back().micro_batch = layer.at.micro_batch;
      routing.layers.back().alike = moe::stage_ranks(groups);
    }
  } else {
    expect_file(text);
    routing = routing_of_file(text, program, layers, groups, say);
  }
  return routing;
}

}  // namespace

void check_routing(const std::string& text) {
  const std::string_view words = text;
  if (words == kUniform) return;
  if (words.starts_with(kZipf)) {
    parse_exponent(words.substr(kZipf.size()));
  } else if (words.starts_with(kDrift)) {
    parse_drift(words.substr(kDrift.size()));
  } else {
    expect_file(text);
  }
}

std::vector<moe::Routing> make_routings(const std::string& text, const moe::Program& program,
                                        const moe::Groups& groups, std::uint64_t seed,
                                        const SayRouting& say) {
  const std::vector<GatedLayer> layers = gated_layers(program);
  std::vector<moe::Routing> routings;
  std::error_code ignored;
  if (text.starts_with(kDrift)) {
    routings = drifting(text, layers, groups, seed);
  } else if (std::filesystem::is_directory(text, ignored)) {
    for (const std::string& file : files_in_order(text)) {
      routings.push_back(one_routing(file, program, layers, groups, seed, say));
    }
  } else {
    routings.push_back(one_routing(text, program, layers, groups, seed, say));
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

namespace {

/// [rank of the stage][expert] of a layer, as a run stored it.
using StoredRows = std::map<int, std::map<int, db::Load>>;

/// Throws db::Error (invalid) where the rows are not those of the layer.
moe::LayerRouting stored_layer(const StoredRows& rows, const GatedLayer& wanted, int ranks,
                               const std::string& source) {
  moe::LayerRouting layer;
  layer.layer = wanted.at.layer;
  layer.micro_batch = wanted.at.micro_batch;
  layer.experts = wanted.experts;
  const auto refuse = [&](const std::string& why) {
    throw db::Error(db::ErrorKind::invalid,
                    fmt::format("{}, loads of {}: {}", source, in_words(wanted.at), why));
  };
  if (rows.size() != static_cast<std::size_t>(ranks)) {
    refuse(fmt::format("of {} ranks, expected {}", rows.size(), ranks));
  }
  bool tells_asked = true;
  for (const auto& [rank, experts] : rows) {
    // Ranks are counted within the layer's stage, whose first may be any rank of the world.
    const std::int64_t next = rows.begin()->first + static_cast<std::int64_t>(layer.tokens.size());
    if (rank != next) refuse(fmt::format("none of rank {}", next));
    auto& tokens = layer.tokens.emplace_back();
    auto& asked = layer.asked.emplace_back();
    for (const auto& [expert, load] : experts) {
      if (expert != static_cast<int>(tokens.size())) break;  // one before it is missing
      tokens.push_back(load.tokens);
      asked.push_back(load.asked_tokens.value_or(load.tokens));
      tells_asked = tells_asked && load.asked_tokens.has_value();
    }
    if (static_cast<int>(tokens.size()) != wanted.experts || experts.size() != tokens.size()) {
      refuse(fmt::format("rank {} has {} experts, {} of them from 0 on without a gap: expected {}",
                         rank, experts.size(), tokens.size(), wanted.experts));
    }
  }
  // Where copies may have been dropped and nobody stored how many, what travelled is all there is.
  if (!wanted.full && (tells_asked || !wanted.capacity)) {
    const std::string wrong = other_copies(layer.asked, wanted);
    if (!wrong.empty()) refuse(wrong);
  }
  layer.asked.clear();
  return layer;
}

}  // namespace

moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              const moe::Program& program, const moe::Groups& groups) {
  std::map<std::pair<int, int>, StoredRows> stored;  // by micro-batch and layer
  db::LoadFilter filter;
  filter.run_id = run_id;
  filter.first_iteration = iteration;
  filter.last_iteration = iteration;
  int found = 1;
  for (const db::Load& load : db::load_loads(connection, filter)) {
    const int micro_batch = std::max(load.micro_batch, 0);
    stored[{micro_batch, load.layer}][load.rank][load.expert] = load;
    found = std::max(found, micro_batch + 1);
  }
  if (stored.empty()) {
    throw db::Error(db::ErrorKind::not_found,
                    fmt::format("run {}: no loads of iteration {}", run_id, iteration));
  }
  const std::string source = fmt::format("run {}, iteration {}", run_id, iteration);
  moe::Routing routing;
  const auto add = [&](const GatedLayer& wanted) {
    routing.layers.push_back(stored_layer(stored[{wanted.at.micro_batch, wanted.at.layer}], wanted,
                                          moe::stage_ranks(groups), source));
  };
  for (const GatedLayer& wanted : gated_layers(program)) {
    if (found == program.micro_batches) {
      add(wanted);
    } else if (wanted.at.micro_batch == 0) {  // as many copies in all, in other micro-batches
      GatedLayer one = wanted;
      one.copies = wanted.copies * program.micro_batches / found;
      for (; one.at.micro_batch < found; ++one.at.micro_batch) add(one);
    }
  }
  return of_micro_batches(std::move(routing), program.micro_batches);
}

}  // namespace tuner
