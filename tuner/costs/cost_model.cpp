#include "tuner/costs/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/program/work.h"

namespace tuner {
namespace {

/// Width of the first operand read by that of the first written.
std::string columns_text(const moe::Program& program, const moe::Op& op) {
  std::string text;
  for (const auto* uses : {&op.reads, &op.writes}) {
    if (uses->empty()) continue;
    if (!text.empty()) text += 'x';
    text += std::to_string(program.tensors[uses->front().tensor].columns);
  }
  return text;
}

std::int64_t largest_rows(const moe::Program& program, const moe::Op& op) {
  std::int64_t rows = 0;
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const moe::Use& use : *uses) {
      rows = std::max(rows, program.tensors[use.tensor].rows);
    }
  }
  return rows;
}

/// The type of the numbers that the op computes with: of those beside f32, that of an operand.
moe::DType computes_in(const moe::Program& program, const moe::Op& op) {
  if (moe::facts_of(op).activity != moe::Activity::computation) return moe::DType::f32;
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const moe::Use& use : *uses) {
      const moe::DType dtype = program.tensors[use.tensor].dtype;
      if (dtype == moe::DType::bf16 || dtype == moe::DType::f64) return dtype;
    }
  }
  return moe::DType::f32;
}

constexpr std::string_view kGemm = "gemm";
constexpr std::string_view kBroadcast = "broadcast", kReduce = "reduce";

/// Whether the op sends parameters, or gradients, of experts on rings.
template <class Kind>
bool is_on_rings(const moe::Op& op) {
  const auto* moving = std::get_if<Kind>(&op.kind);
  return moving != nullptr && moving->on_rings();
}

/// An op's own name, then those whose fit stands in for it, the likest first.
std::vector<std::string_view> kinds_alike(const moe::Op& op) {
  std::vector<std::string_view> kinds{collective_name(op)};
  if (kinds.front() == kReduce) kinds.push_back(kBroadcast);
  if (moe::exchanges_rows(op) || moe::moves_experts(op)) {
    kinds.push_back(moe::AllToAll::facts.name);
  }
  if (std::holds_alternative<moe::GatherLoads>(op.kind)) {
    kinds.push_back(moe::ExchangeCounts::facts.name);
  }
  if (std::holds_alternative<moe::ReduceNorm>(op.kind) ||
      std::holds_alternative<moe::ReduceTied>(op.kind)) {
    kinds.push_back(moe::AllReduce::facts.name);
  }
  if (std::holds_alternative<moe::GatherRows>(op.kind) ||
      std::holds_alternative<moe::GatherShares>(op.kind)) {
    kinds.push_back(moe::AllGather::facts.name);
  }
  if (std::holds_alternative<moe::ScatterRows>(op.kind) ||
      std::holds_alternative<moe::ReduceShares>(op.kind)) {
    kinds.push_back(moe::ReduceScatter::facts.name);
  }
  return kinds;
}

}  // namespace

bool costs_by_flops(const moe::Op& op) { return moe::facts_of(op).unit == moe::CostUnit::flops; }

Sample units_of(const moe::Program& program, const moe::Op& op, const moe::Binding& binding,
                const moe::Groups& groups, int rank, std::string_view device) {
  const moe::Work work = moe::work_of(program, op, binding, groups, rank);
  const std::int64_t calls = device != "cpu" && work.gpu_calls > 0 ? work.gpu_calls : work.calls;
  Sample sample;
  sample.calls = static_cast<double>(std::max<std::int64_t>(calls, 1));
  sample.units = costs_by_flops(op) ? work.flops : static_cast<double>(work.memory_bytes);
  return sample;
}

std::string costed_kind(const moe::Program& program, const moe::Op& op) {
  return fit_of_type(moe::kind_name(op), moe::name_of(computes_in(program, op)));
}

std::string shape_key(const moe::Program& program, const moe::Op& op) {
  const std::string columns = columns_text(program, op), kind = costed_kind(program, op);
  if (moe::uses_routed_rows(program, op)) return fmt::format("{}[{}]", kind, columns);
  return fmt::format("{}[{} rows, {}]", kind, largest_rows(program, op), columns);
}

std::string link_key(std::string_view op, std::string_view link) {
  std::string key;
  key.reserve(op.size() + 1 + link.size());
  return key.append(op).append(1, '/').append(link);
}

std::vector<std::string_view> general_fits(const moe::OpFacts& facts) {
  if (facts.activity == moe::Activity::copy) return {"copy", "memory"};
  return {facts.unit == moe::CostUnit::flops ? kGemm : "memory"};
}

std::string fit_of_type(std::string_view fit, std::string_view dtype) {
  const bool has_own = std::ranges::any_of(
      kTypesWithFits, [&](moe::DType type) { return dtype == moe::name_of(type); });
  return has_own ? fmt::format("{}_{}", fit, dtype) : std::string(fit);
}

std::string_view type_of_fit(std::string_view fit) {
  for (const moe::DType type : kTypesWithFits) {
    const std::string_view name = moe::name_of(type);
    if (fit.ends_with(name) && fit.size() > name.size() &&
        fit[fit.size() - name.size() - 1] == '_') {
      return name;
    }
  }
  return moe::name_of(moe::DType::f32);
}

std::string gemm_fit(std::string_view dtype) { return fit_of_type(kGemm, dtype); }

const std::string& fit_key(const CostModel& costs, const moe::Program& program, const moe::Op& op) {
  const std::string kind = costed_kind(program, op);
  std::vector<std::string> keys;
  const auto of_shape = costs.fits.lower_bound(kind + '[');
  if (of_shape != costs.fits.end() && of_shape->first.starts_with(kind + '[')) {
    keys.push_back(shape_key(program, op));
  }
  keys.push_back(kind);
  const moe::DType dtype = computes_in(program, op);
  for (const std::string_view general : general_fits(moe::facts_of(op))) {
    keys.push_back(general == kGemm ? gemm_fit(moe::name_of(dtype)) : std::string(general));
  }
  for (const std::string& key : keys) {
    if (const auto found = costs.fits.find(key); found != costs.fits.end()) return found->first;
  }
  const std::string& general = keys.back();
  const bool usual = dtype == moe::DType::f32;
  const std::string of_type = usual ? "" : fmt::format(" in {}", moe::name_of(dtype));
  const std::string bench = !general.starts_with(kGemm) ? "copies"
                            : usual                     ? std::string(kGemm)
                                    : fmt::format("gemm --dtype {}", moe::name_of(dtype));
  throw moe::Refusal(
      "costs", fmt::format("no fit for {}{} on {}", moe::kind_name(op), of_type, costs.device),
      fmt::format(
          "measure it with a study (moe-tune study profiles every op), or \"{}\" with "
          "moe-bench {} --db F and moe-tune fit --db F, or write [fit.{}] in the cluster "
          "file{}",
          general, bench, general,
          dtype == moe::DType::bf16 ? ", or take a cluster that has it: moe-tune clusters" : ""),
      {std::string(op.name), op.layer});
}

double seconds(const CostModel& costs, const moe::Program& program, const moe::Op& op,
               const moe::Binding& binding, const moe::Groups& groups, int rank) {
  const Sample units = units_of(program, op, binding, groups, rank, costs.device);
  return seconds_of(costs.fits.at(fit_key(costs, program, op)), units.calls, units.units);
}

std::string_view collective_name(const moe::Op& op) {
  if (is_on_rings<moe::SendExperts>(op)) return kBroadcast;
  if (is_on_rings<moe::ReturnGradients>(op)) return kReduce;
  return moe::kind_name(op);
}

bool is_of_chains(const CollectiveFit& fit) {
  const std::string_view kind = std::string_view(fit.first).substr(0, fit.first.find('/'));
  return kind == kBroadcast || kind == kReduce || kind == moe::SendExperts::facts.name ||
         kind == moe::ReturnGradients::facts.name;
}

const CollectiveFit* collective_fit(const CostModel& costs, const moe::Op& op,
                                    std::string_view link) {
  const auto find = [&](std::string_view kind) {
    const auto found = costs.fits.find(link_key(kind, link));
    return found == costs.fits.end() ? nullptr : &*found;
  };
  // What was measured as the op's own kind is of experts sent to each rank, and not on rings.
  const CollectiveFit* own = find(moe::kind_name(op));
  if (own != nullptr && own->second.samples == 0) return own;
  for (const std::string_view kind : kinds_alike(op)) {
    if (const CollectiveFit* fit = find(kind)) return fit;
  }
  return nullptr;
}

namespace {

/// A figure of a line, where it is known.
template <class Figure>
void write_figure(const char* name, const Figure& figure, nlohmann::json& line) {
  if constexpr (std::is_arithmetic_v<Figure>) {
    line[name] = figure;
  } else if (figure) {
    line[name] = *figure;
  }
}

}  // namespace

std::string to_json(const CostModel& costs) {
  using nlohmann::json;
  json fits = json::object();
  for (const auto& [key, fit] : costs.fits) {
    json& line = fits[key];
    line["unit"] = fit.unit;
    each_figure([&](const char* name, const auto& figure) { write_figure(name, figure, line); },
                fit);
    for (const SizeTime& point : fit.points) {
      line["points"].push_back({point.units, point.seconds});
    }
  }
  json result{{"device", costs.device},
              {"fits", fits},
              {"interference", speeds_json(costs.interference)},
              {"gaps", {{"launch_s", costs.gaps.launch_s}, {"queued_s", costs.gaps.queued_s}}},
              {"buffers",
               {{"leaving_bytes", costs.buffers.leaving_bytes},
                {"ahead_bytes", costs.buffers.ahead_bytes}}}};
  for (const Slowdowns& of_ranks : costs.slowdowns) result["slowdowns"].push_back(of_ranks);
  if (costs.deviation) result["deviation"] = *costs.deviation;
  return result.dump();
}

namespace {

constexpr double kMostNumber = std::numeric_limits<double>::max();

// A calibration is taken as it is: a fit over noise may have any sign.
double any_number(const moe::InputObject& object, std::string_view key) {
  return object.number(key, -kMostNumber, kMostNumber, "a number");
}

LinearFit read_stored_fit(const moe::InputObject& value) {
  LinearFit fit;
  fit.unit = value.text("unit");
  const auto read = [&](const char* name, auto& figure) {
    using Figure = std::decay_t<decltype(figure)>;
    if constexpr (std::is_same_v<Figure, int>) {
      figure = static_cast<int>(value.integer(name, 0, std::numeric_limits<int>::max()));
    } else if (std::is_same_v<Figure, double> || value.has(name)) {
      figure = any_number(value, name);
    }
  };
  each_figure(read, fit);
  if (!value.has("points")) return fit;
  for (const moe::InputValue& entry : value.list("points")) {
    const std::vector<moe::InputValue> point = entry.list("units and seconds");
    if (point.size() != 2) entry.fail("units and seconds");
    fit.points.push_back({point[0].number(0, kMostNumber, "units"),
                          point[1].number(0, kMostNumber, "seconds, 0 or more")});
  }
  if (fit.points.size() < 2) value.refuse("points", "expected two or more");
  return fit;
}

LaunchGaps read_gaps(const moe::InputObject& json) {
  return {any_number(json, "launch_s"), any_number(json, "queued_s")};
}

MessageBuffers read_buffers(const moe::InputObject& object) {
  const auto bytes = [&](std::string_view key) {
    return object.number(key, 0, kMostNumber, "bytes, 0 or more");
  };
  return {bytes("leaving_bytes"), bytes("ahead_bytes")};
}

std::vector<Slowdowns> slowdowns_if_any(const moe::InputObject& json) {
  constexpr double kLeast = std::numeric_limits<double>::min();
  constexpr std::string_view expected = "how many times as long as the fits say, above 0";
  std::vector<Slowdowns> slowdowns;
  if (!json.has("slowdowns")) return slowdowns;
  for (const moe::InputValue& iteration : json.list("slowdowns")) {
    Slowdowns& of_ranks = slowdowns.emplace_back();
    for (const moe::InputValue& rank : iteration.list("a list of ranks")) {
      of_ranks.push_back(rank.number(kLeast, kMostNumber, expected));
    }
    if (of_ranks.size() != slowdowns.front().size()) iteration.fail("as many ranks as the first");
  }
  return slowdowns;
}

}  // namespace

CostModel cost_model_from_json(std::string_view text) {
  const moe::InputDocument document = moe::parse_json(text, "cost model");
  const moe::InputObject json = document.object();
  CostModel costs;
  costs.device = json.text("device");
  if (json.has("deviation")) costs.deviation = any_number(json, "deviation");
  const moe::InputObject fits = json.object("fits");
  for (const std::string& key : fits.keys())
    costs.fits.emplace(key, read_stored_fit(fits.object(key)));
  read_speeds(json.object("interference"), std::numeric_limits<double>::min(), kMostNumber,
              "a speed above 0", costs.interference);
  costs.gaps = read_gaps(json.object("gaps"));
  costs.buffers = read_buffers(json.object("buffers"));
  costs.slowdowns = slowdowns_if_any(json);
  document.no_other_keys();
  return costs;
}

}  // namespace tuner
