#include "tuner/costs/cluster_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "db/collective_facts.h"
#include "moe/input/similar.h"
#include "tuner/costs/rule_time.h"

namespace tuner {
namespace {

constexpr double kMostSeconds = 10;
constexpr double kShortestPoint_s = 1e-9;
constexpr double kMostPointUnits = 1e18;
constexpr int kMostRanksOfTable = 1'000'000;
constexpr double kRounded = 1.05;  ///< figures of two digits are this near to what was measured
constexpr double kBitsOfGbit = 1e9;

/// Fits of many kinds of ops; those of computation and copies in f32.
constexpr std::array<std::string_view, 3> kGeneralComputation{"gemm", "memory", "copy"};
constexpr std::array<std::string_view, 6> kGeneralCommunication{
    "all_to_all", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"};

/// What a fit of this name is of.
struct FitSubject {
  bool communicates = false;
  std::string_view unit;  ///< "flop" | "byte"
};

template <std::size_t... index>
const moe::OpFacts* facts_named(std::string_view name, std::index_sequence<index...>) {
  const moe::OpFacts* found = nullptr;
  ((std::variant_alternative_t<index, moe::AnyOpKind>::facts.name == name
        ? void(found = &std::variant_alternative_t<index, moe::AnyOpKind>::facts)
        : void()),
   ...);
  return found;
}
constexpr auto kEveryKind = std::make_index_sequence<std::variant_size_v<moe::AnyOpKind>>{};

template <std::size_t... index>
std::vector<std::string_view> names_of_kinds(std::index_sequence<index...>) {
  return {std::variant_alternative_t<index, moe::AnyOpKind>::facts.name...};
}

/// The name without its type: "linear" of "linear_f64".
std::string_view without_type(std::string_view name) {
  const std::string_view type = type_of_fit(name);
  if (type == moe::name_of(moe::DType::f32)) return name;
  return name.substr(0, name.size() - type.size() - 1);
}

std::optional<FitSubject> subject_of(std::string_view name) {
  if (std::ranges::count(kRules, name) > 0) return FitSubject{false, "byte"};
  if (std::ranges::count(kGeneralCommunication, name) > 0) return FitSubject{true, "byte"};
  if (without_type(name) == "gemm") return FitSubject{false, "flop"};
  if (std::ranges::count(kGeneralComputation, name) > 0) return FitSubject{false, "byte"};
  const std::string_view kind = name.substr(0, name.find('['));  // a shape: "linear[8 rows, 4x6]"
  const moe::OpFacts* facts = facts_named(kind, kEveryKind);
  if (facts == nullptr) facts = facts_named(without_type(kind), kEveryKind);
  if (facts == nullptr) return std::nullopt;
  return FitSubject{facts->activity == moe::Activity::communication,
                    facts->unit == moe::CostUnit::flops ? "flop" : "byte"};
}

[[noreturn]] void refuse_name(const moe::InputObject& fits, const std::string& name) {
  std::vector<std::string_view> known = names_of_kinds(kEveryKind);
  known.insert(known.end(), kGeneralComputation.begin(), kGeneralComputation.end());
  known.insert(known.end(), kGeneralCommunication.begin(), kGeneralCommunication.end());
  known.insert(known.end(), kRules.begin(), kRules.end());
  const auto like = moe::most_similar(name, known);
  const std::string hint = like ? fmt::format("is {} meant? General", *like) : "general";
  fits.refuse(name, fmt::format("no kind of op is called that; {} fits are {}, {}", hint,
                                fmt::join(kGeneralComputation, ", "),
                                fmt::join(kGeneralCommunication, ", ")));
}

/// The bytes that the busiest rank sends over a link, for each of a table's. bytes = "nccl-tests" is
/// the size that it prints, "osu" that of OSU's benchmarks, for each pair of ranks where all exchange,
/// and "bus" those of bus bandwidth. Inside a node, and between nodes of one rank, the latter are those
/// of the busiest rank; else they need ranks = N, as the others do. "wire", which is usual, needs none.
double bytes_of_one(const moe::InputObject& table, std::string_view op, std::string_view link,
                    const Cluster& cluster) {
  enum { kWire, kBus, kNcclTests, kOsu };
  const auto counted = table.optional_member("bytes");
  const std::size_t as =
      counted ? counted->one_of({"wire", "bus", "nccl-tests", "osu"}) : std::size_t{kWire};
  const bool leaves_nodes = link == "inter_node" && cluster.ranks_per_node > 1;
  if (as == kWire || (as == kBus && !leaves_nodes)) {
    if (table.has("ranks")) {
      table.refuse("ranks",
                   "is of bytes = \"nccl-tests\" or \"osu\", and between nodes of several ranks "
                   "of \"bus\"");
    }
    return 1;
  }
  if (as == kBus && !table.has("ranks")) {
    table.refuse("ranks",
                 fmt::format("missing: between nodes of {} ranks, how many of the bytes = \"bus\" "
                             "leave a node depends on the ranks of the table",
                             cluster.ranks_per_node));
  }
  const auto ranks = static_cast<int>(table.integer("ranks", 2, kMostRanksOfTable));
  const auto bus = db::bus_factor(op, ranks);
  if (!bus) counted->refuse(fmt::format("no benchmark is of {}", op));
  const int nodes = link == "inter_node" ? ranks / cluster.ranks_per_node : 1;
  if (link == "inter_node" && (ranks % cluster.ranks_per_node != 0 || nodes < 2)) {
    table.refuse("ranks",
                 fmt::format("{} of nodes of {}: expected those of two whole nodes or more", ranks,
                             cluster.ranks_per_node));
  }
  const bool all_cards = cluster.device == "cuda" && cluster.cards_per_node > 1;
  const double sent = db::link_factor(op, ranks, nodes, all_cards).value();
  if (as == kBus) return sent / *bus;
  const bool is_of_pairs = op == "all_to_all" || op == "all_to_all_v" || op == "all_gather";
  return as == kOsu && is_of_pairs ? sent * ranks : sent;
}

/// points = [[1024, 3.1e-4], [65536, 3.6e-4]]: bytes or FLOPs, and seconds
LinearFit read_points(const moe::InputValue& list, std::string_view unit, double units_of_one) {
  constexpr std::string_view expected = "a size and its seconds, as in [1024, 3.1e-4]";
  std::vector<SizeTime> points;
  for (const moe::InputValue& entry : list.list("a list of sizes and their times")) {
    const std::vector<moe::InputValue> pair = entry.list(expected);
    if (pair.size() != 2) entry.fail(expected);
    const SizeTime point{
        units_of_one * pair[0].number(0, kMostPointUnits, "bytes or FLOPs, from 0 to 1e18"),
        pair[1].number(kShortestPoint_s, kMostSeconds, "seconds, from 1e-9 to 10")};
    if (!points.empty() && point.units <= points.back().units) pair[0].refuse("sizes must ascend");
    points.push_back(point);
  }
  if (points.size() < 2) list.fail("two points or more");
  return fit_points(std::move(points), std::string(unit));
}

/// The points of a fit; none where a line stands above them. A file may have one, its base the other.
std::optional<moe::InputValue> nearer_points(const moe::InputObject& table) {
  auto points = table.optional_member("points");
  if (!points) return std::nullopt;
  for (const char* key : {"alpha_s", "beta_s_per_flop", "beta_s_per_byte"}) {
    const auto of_line = table.optional_member(key);
    if (!of_line || of_line->is_below(*points)) continue;
    if (points->is_below(*of_line)) return std::nullopt;
    of_line->refuse("stands beside points: expected a line or points");
  }
  return points;
}

/// `link`: "" of computation.
LinearFit read_line_or_points(const moe::InputObject& table, const std::string& op,
                              const FitSubject& subject, std::string_view link,
                              const Cluster& cluster) {
  const double units_of_one = subject.communicates ? bytes_of_one(table, op, link, cluster) : 1;
  if (const auto points = nearer_points(table)) {
    return read_points(*points, subject.unit, units_of_one);
  }
  LinearFit fit;
  fit.alpha_s = table.number("alpha_s", 0, kMostSeconds, "seconds, from 0 to 10");
  if (table.has("beta_s_per_flop") == table.has("beta_s_per_byte")) {
    table.refuse("beta_s_per_byte", "expected either beta_s_per_byte or beta_s_per_flop");
  }
  fit.unit = subject.unit;
  const std::string key = fmt::format("beta_s_per_{}", subject.unit);
  if (!table.has(key)) {
    table.refuse(subject.unit == "flop" ? "beta_s_per_byte" : "beta_s_per_flop",
                 fmt::format("expected {}: such ops cost by the {}", key, subject.unit));
  }
  constexpr double least = std::numeric_limits<double>::min();
  fit.beta_s_per_unit = subject.communicates
                            ? table.number(key, least, 1, "seconds per byte, above 0 and at most 1")
                            : table.number(key, 0, 1, "seconds per unit, from 0 to 1");
  fit.beta_s_per_unit /= units_of_one;
  if (fit.alpha_s == 0 && fit.beta_s_per_unit == 0) {
    table.refuse(key,
                 fmt::format("these ops would take no time: expected alpha_s or {} above 0", key));
  }
  fit.r2 = table.number_or("r2", 1, -1e9, 1, "at most 1");
  if (const auto samples = table.optional_member("samples")) {
    fit.samples = static_cast<int>(samples->integer(0, 1'000'000'000));
  }
  return fit;
}

/// The link that a fit of communication is of.
std::string link_of(const moe::InputObject& table, const moe::InputObject& fits,
                    const std::string& op, const std::vector<std::string>& links) {
  static const std::vector<std::string_view> kBoth{"inter_node", "intra_node"};
  if (const auto named = table.optional_member("link")) {
    return std::string(kBoth[named->one_of(kBoth)]);
  }
  if (links.size() == 1) return links.front();
  fits.refuse(op, fmt::format("names no link, and this cluster has {}: expected link = "
                              "\"inter_node\" or \"intra_node\"",
                              links.empty() ? "none" : "two"));
}

/// The fit of an op, or, in tables of their own, its fits on both links.
void read_fit(const moe::InputObject& fits, const std::string& op,
              const std::vector<std::string>& links, const Cluster& cluster, CostModel& costs) {
  const std::optional<FitSubject> subject = subject_of(op);
  if (!subject) refuse_name(fits, op);
  const moe::InputObject table = fits.object(op, "a fit");
  if (!subject->communicates) {
    if (table.has("link")) table.refuse("link", "links are of communication, and this computes");
    costs.fits[op] = read_line_or_points(table, op, *subject, "", cluster);
    return;
  }
  bool by_link = false;
  for (const char* link : {"inter_node", "intra_node"}) {
    if (!table.has(link)) continue;
    by_link = true;
    costs.fits[link_key(op, link)] =
        read_line_or_points(table.object(link, "a fit"), op, *subject, link, cluster);
  }
  if (by_link) return;
  const std::string link = link_of(table, fits, op, links);
  costs.fits[link_key(op, link)] = read_line_or_points(table, op, *subject, link, cluster);
}

/// A table of one fit, over a link of this bandwidth.
void check_rate(const moe::InputObject& table, const LinearFit& fit, const std::string& link,
                double bytes_per_s) {
  const auto gbit = [](double rate) { return rate * 8 / kBitsOfGbit; };
  const double most = kRounded * bytes_per_s;
  const std::string way_out =
      fmt::format("{} has {:.4g}: expected its bandwidth_gbit_per_s to be that of the fit or more",
                  link, gbit(bytes_per_s));
  for (const SizeTime& point : fit.points) {
    if (point.units <= most * point.seconds) continue;
    table.refuse("points",
                 fmt::format("{:g} bytes in {:g} s are {:.4g} Gbit/s, and {}", point.units,
                             point.seconds, gbit(point.units / point.seconds), way_out));
  }
  if (!fit.points.empty() || fit.beta_s_per_unit * most >= 1) return;
  table.refuse(
      "beta_s_per_byte",
      fmt::format("{:g} is {:.4g} Gbit/s, and {}, or a time of {:.3g} or more", fit.beta_s_per_unit,
                  gbit(1 / fit.beta_s_per_unit), way_out, 1 / bytes_per_s));
}

}  // namespace

void read_fits(const moe::InputObject& fits, const std::vector<std::string>& links,
               const Cluster& cluster, CostModel& costs) {
  for (const std::string& op : fits.keys()) read_fit(fits, op, links, cluster, costs);
}

void check_rates(const moe::InputObject& fits, const Cluster& cluster, const CostModel& costs) {
  for (const std::string& op : fits.keys()) {
    const moe::InputObject of_op = fits.object(op);
    for (const std::string link : {"inter_node", "intra_node"}) {
      const auto fit = costs.fits.find(link_key(op, link));
      if (fit == costs.fits.end()) continue;
      const bool between = link == "inter_node";
      const Link& declared = between ? cluster.inter_node : cluster.intra_node;
      if (!(declared.bandwidth_bytes_per_s > 0)) continue;
      check_rate(of_op.has(link) ? of_op.object(link) : of_op, fit->second, link,
                 declared.bandwidth_bytes_per_s);
    }
  }
}

LinearFit over_changed_link(const LinearFit& fit, const Link& before, const Link& now) {
  const double factor = now.bandwidth_bytes_per_s / before.bandwidth_bytes_per_s;
  const auto startup_s = [&](double before_s) {
    return before.latency_s > 0 ? before_s * (now.latency_s / before.latency_s)
                                : before_s + now.latency_s;
  };
  LinearFit changed = fit;
  changed.alpha_s = startup_s(fit.alpha_s);
  changed.beta_s_per_unit = fit.beta_s_per_unit / factor;
  for (SizeTime& point : changed.points) {
    const double of_bytes_s = point.units / before.bandwidth_bytes_per_s;
    const double before_s = std::clamp(point.seconds - of_bytes_s, 0.0, fit.alpha_s);
    point.seconds = startup_s(before_s) + (point.seconds - before_s) / factor;
  }
  return changed;
}

bool is_general_fit(std::string_view key) {
  const std::string_view name = key.substr(0, key.find('/'));
  return std::ranges::count(kGeneralCommunication, name) > 0 ||
         std::ranges::count(kGeneralComputation, without_type(name)) > 0;
}

}  // namespace tuner
