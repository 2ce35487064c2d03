#include "tuner/scenario/scenario.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/named_file.h"
#include "moe/input/setting.h"
#include "moe/input/value.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_json.h"
#include "moe/model/published/read_config.h"
#include "moe/program/row_handling.h"
#include "moe/source_tree.h"
#include "tuner/costs/measured_cards.h"
#include "tuner/costs/used_fits.h"
#include "tuner/machine/slowdown.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/more_nodes.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner {
namespace {

/// The settings of the cluster, or those of the model.
std::vector<std::string> settings_of(const ScenarioOptions& options, bool cluster) {
  std::vector<std::string> found;
  for (const std::string& setting : options.settings) {
    if (setting.starts_with("cluster.") == cluster) found.push_back(setting);
  }
  return found;
}

constexpr std::string_view kCardsKey = "cluster.inter_node.cards_per_node";
constexpr std::string_view kNodesKey = "cluster.nodes";
constexpr std::string_view kRateKey = "cluster.inter_node.bandwidth_gbit_per_s";
constexpr std::string_view kLatencyKey = "cluster.inter_node.latency_s";

/// Of a measured cluster no other key can be set.
void check_is_of_measured(const std::vector<std::string>& settings) {
  for (const moe::Setting& setting : moe::parse_settings(settings)) {
    const std::string key = moe::key_of(setting);
    if (key == kCardsKey || key == kNodesKey || key == kRateKey || key == kLatencyKey) continue;
    throw moe::InputError(
        fmt::format("--set {}={}: --cluster measured has no file with keys, only {}, {}, {} and "
                    "{}: expected one of these, or a cluster's name or file",
                    key, setting.value, kNodesKey, kCardsKey, kRateKey, kLatencyKey));
  }
}

/// What settings of a measured cluster say of its nodes.
AskedNodes asked_nodes(const std::vector<std::string>& settings) {
  constexpr double kGbit_bytes = 1e9 / 8, kMostLatency_s = 10;
  AskedNodes asked;
  for (const std::string& text : settings) {
    const moe::Setting setting = moe::parse_setting(text);
    const std::string key = moe::key_of(setting);
    moe::InputNode root{moe::InputNode::Members{}};
    moe::put(root, setting, 0, 1);
    const moe::InputDocument document("--set " + text, moe::InputDocument::Kind::toml, root);
    const moe::InputObject table = document.object();
    if (key == kNodesKey) {
      asked.nodes = static_cast<int>(table.integer("nodes", 1, kMostPredictedRanks));
    } else if (key == kRateKey) {
      asked.bandwidth_bytes_per_s =
          table.object("inter_node")
              .number("bandwidth_gbit_per_s", 1e-6, 1e9, "Gbit/s, from 1e-6 to 1e9") *
          kGbit_bytes;
    } else if (key == kLatencyKey) {
      asked.latency_s = table.object("inter_node")
                            .number("latency_s", 0, kMostLatency_s, "seconds, from 0 to 10");
    }
  }
  return asked;
}

/// Gives the nodes of a measured machine the cards that settings say, or says that they are not
/// known.
void take_cards(const std::vector<std::string>& settings, bool has_nodes, MeasuredCosts& measured) {
  Cluster& cluster = measured.costed.cluster;
  for (const std::string& text : settings) {
    if (moe::key_of(moe::parse_setting(text)) != kCardsKey) continue;
    moe::InputNode root{moe::InputNode::Members{}};
    moe::put(root, moe::parse_setting(text), 0, 1);
    const moe::InputDocument document("--set " + text, moe::InputDocument::Kind::toml, root);
    const moe::InputObject table = document.object().object("inter_node");
    const auto cards = static_cast<int>(table.integer("cards_per_node", 1, cluster.ranks_per_node));
    if (cluster.ranks_per_node % cards != 0) {
      table.refuse("cards_per_node", fmt::format("expected a divisor of the {} ranks of a node",
                                                 cluster.ranks_per_node));
    }
    divide_cards(measured.costed, cards);
    measured.knows_cards = true;
  }
  if (measured.knows_cards || (cluster.nodes == 1 && !has_nodes) || cluster.ranks_per_node == 1) {
    return;
  }
  measured.remarks.push_back(
      fmt::format("how many network cards a node has is not known: its {} ranks are taken to share "
                  "one, unless --set {}=N",
                  cluster.ranks_per_node, kCardsKey));
}

moe::Groups asked_groups(const ScenarioOptions& options, const moe::Model& model,
                         const Cluster& cluster) {
  const int ranks = options.ranks.value_or(cluster.nodes * cluster.ranks_per_node);
  if (ranks > kMostPredictedRanks) {
    throw moe::InputError(
        fmt::format("cluster {}: {} ranks: expected at most {}: choose with --ranks", cluster.name,
                    ranks, kMostPredictedRanks));
  }
  return groups_of(cluster, moe::parse_layout(options.layout, ranks, moe::fits(model)));
}

/// Says of settings that change a link which nothing crosses that they change nothing.
void remark_on_unused_links(const ScenarioOptions& options, Scenario& scenario) {
  const std::vector<int>& node_of = scenario.groups.node_of;
  const std::set<int> nodes(node_of.begin(), node_of.end());
  const auto say = [&](const std::string& link, const char* why) {
    const bool is_set = std::ranges::any_of(options.settings, [&](const std::string& setting) {
      return setting.starts_with(link + ".");
    });
    if (is_set) scenario.remarks.push_back(fmt::format("{}: {} changes nothing", why, link));
  };
  if (nodes.size() == node_of.size()) say("cluster.intra_node", "no two ranks are on one node");
  if (nodes.size() == 1) say("cluster.inter_node", "all ranks are on one node");
}

/// Says that the file of a GPU has no time of fused attention, which most trainers have.
void remark_on_attention(const ScenarioOptions& options, Scenario& scenario) {
  constexpr std::string_view kFused = "attention_bf16";
  if (is_measured_cluster(options.cluster) || scenario.cluster.device != "cuda" ||
      scenario.model.dtype != moe::DType::bf16) {
    return;
  }
  const auto fit = scenario.costs.fits.lower_bound(kFused);
  if (fit != scenario.costs.fits.end() && fit->first.starts_with(kFused)) return;
  scenario.remarks.push_back(
      fmt::format("cluster {} has no fit.{}: attention costs the many products and passes over "
                  "memory that moelab computes it in; one fused kernel takes far less",
                  scenario.cluster.name, kFused));
}

}  // namespace

moe::Model load_named_model(const ScenarioOptions& options,
                            const std::function<void(const std::string&)>& say) {
  const auto models = moe::source_tree() / "experiments" / "models";
  const auto path = moe::find_input(options.model, models);
  moe::Model model = moe::load_model(path, settings_of(options, false));
  if (const std::string said = moe::assumed_training(path, model); !said.empty()) {
    say(said);
  }
  return model;
}

moe::Model load_named_model(const ScenarioOptions& options) {
  return load_named_model(options, [](const std::string& text) { spdlog::info(text); });
}

MeasuredCosts load_named_costs(const ScenarioOptions& options, const moe::Model& model) {
  const std::vector<std::string> settings = settings_of(options, true);
  if (!is_measured_cluster(options.cluster)) {
    const auto clusters = moe::source_tree() / "experiments" / "clusters";
    return {load_cluster(moe::named_file(options.cluster, clusters), settings), {}};
  }
  check_is_of_measured(settings);
  const AskedNodes nodes = asked_nodes(settings);
  if (options.database.empty()) throw moe::InputError("--cluster measured needs --db FILE");
  std::string place;
  if (options.cluster != kMeasuredCluster) {
    place = options.cluster.substr(sizeof(kMeasuredCluster));
    if (place.find_first_not_of(" \t") == std::string::npos) {
      throw moe::InputError(fmt::format(
          "--cluster \"{}\": expected a part of a machine's or network's name after the colon, or "
          "{} alone",
          options.cluster, kMeasuredCluster));
    }
  }
  MeasuredCosts measured =
      measured_costs(options.database,
                     // Nodes are asked for: what was measured on fewer ranks tells.
                     {moe::to_json(model), nodes.nodes ? std::nullopt : options.ranks,
                      options.layout, place, options.model, options.network});
  take_cards(settings, nodes.nodes.value_or(1) > 1, measured);
  return with_nodes(std::move(measured), nodes);
}

Scenario load_scenario(const ScenarioOptions& options) {
  moe::Model model = load_named_model(options);
  MeasuredCosts costs = load_named_costs(options, model);
  return scenario_of(options, std::move(model), std::move(costs));
}

Scenario scenario_of(const ScenarioOptions& options, moe::Model model, MeasuredCosts costs) {
  Scenario scenario;
  scenario.model = std::move(model);
  scenario.cluster = std::move(costs.costed.cluster);
  scenario.costs = std::move(costs.costed.costs);
  scenario.remarks = std::move(costs.remarks);
  scenario.groups = asked_groups(options, scenario.model, scenario.cluster);
  remark_on_unused_links(options, scenario);
  remark_on_attention(options, scenario);
  const std::vector<Slowdowns>& slowdowns = scenario.costs.slowdowns;
  if (const int ranks = scenario.groups.ranks;
      !slowdowns.empty() && slowdowns_of_ranks(scenario.costs, ranks).empty()) {
    scenario.remarks.push_back(
        fmt::format("how unequally fast {} ranks compute was measured, and is not known of {}: "
                    "predictions take them as equally fast",
                    slowdowns.front().size(), ranks));
  }
  scenario.program = moe::build_iteration(scenario.model, scenario.groups, 0);
  scenario.routings = make_routings(
      options.routing, scenario.program, scenario.groups,
      static_cast<std::uint64_t>(scenario.model.seed), [&](const std::string& remark) {
        if (std::ranges::find(scenario.remarks, remark) == scenario.remarks.end()) {
          scenario.remarks.push_back(remark);
        }
      });
  scenario.routing = scenario.routings.front();
  if (scenario.routings.size() == 1) scenario.routings.clear();
  return scenario;
}

std::string extrapolation(const Scenario& scenario) {
  const auto is_measured = [](const auto& fit) { return fit.second.samples > 0; };
  if (std::ranges::none_of(scenario.costs.fits, is_measured)) return "";
  std::vector<std::string> fits;
  const moe::Binding rows = moe::bind(scenario.program, scenario.routing, scenario.groups, 0);
  try {
    const ProgramCosts costs = program_costs(scenario.program, scenario.groups, scenario.routing,
                                             scenario.costs, scenario.cluster);
    fits = fits_used(scenario.costs, scenario.program, costs.ops, rows, scenario.groups);
  } catch (const moe::Refusal&) {
    return "";  // an op without costs is refused where it is predicted
  }
  const auto far = std::ranges::count_if(
      fits, [](const std::string& line) { return line.ends_with(kExtrapolated); });
  if (far == 0) return "";
  return fmt::format(
      "{} of {} fits are used at sizes more than twice as large or as small as measured; moe-tune "
      "simulate --fits names them",
      far, fits.size());
}

}  // namespace tuner
