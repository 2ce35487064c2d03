#include "microbench/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "microbench/awake_ranks.h"
#include "microbench/collectives/exchange_matrix.h"
#include "microbench/table.h"
#include "moe/communicator/awake.h"
#include "moe/errors.h"

namespace microbench {
namespace {

bool names_a_collective(const std::string& name) {
  return std::ranges::find(collective_names(), name) != collective_names().end();
}

bool has_cores_to_wait_awake(const Bench& bench) {
  if (bench.world.size == 1 || bench.ranks.empty() || bench.enqueues) return false;
  std::vector<int> everybody(bench.ranks.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  return may_wait_awake(bench.ranks, everybody);
}

/// What the case costs without the sleeps of those who wait: the fabric's own latency shows.
void time_awake_too(const Bench& bench, Case& subject) {
  subject.complete = [&bench, timed = subject.timed](Result& row) {
    const moe::WaitsAwake awake;
    row.awake_s = summary_of(sample(bench.world, timed, bench.sampling)).median_s;
  };
}

/// Whether no rank would send anything to another, since shares are rounded to whole elements; rank
/// 0 says so.
bool leaves_size_out(const Bench& bench, const ExchangeMatrix& exchange, std::int64_t bytes) {
  const std::int64_t count = std::max<std::int64_t>(bytes / moe::bytes_of(bench.dtype), 1);
  if (exchanges(exchange, count)) return false;
  if (bench.world.rank == 0) {
    spdlog::warn(
        "all_to_all_v of {} bytes is left out: by --routing {}, of {} element{} ({}) that the "
        "busiest rank receives none comes from another rank: expected larger --sizes",
        bytes, exchange.name, count, count == 1 ? "" : "s", moe::name_of(bench.dtype));
  }
  return true;
}

}  // namespace

std::vector<Plan> collective_plans(const Bench& bench, const std::vector<std::string>& names,
                                   const std::vector<std::int64_t>& sizes,
                                   const std::string& routing, std::string_view routing_text) {
  for (const std::string& name : names) {
    if (!names_a_collective(name)) {
      throw moe::Refusal(fmt::format("collective \"{}\"", name), "",
                         fmt::format("expected one of {}", fmt::join(collective_names(), ", ")));
    }
  }
  std::optional<ExchangeMatrix> exchange;
  std::optional<MeasuredCollective> routed;
  if (!routing.empty()) {
    exchange = exchange_matrix(routing, routing_text, bench.world.size);
    routed = routed_all_to_all_v(*exchange);
  }
  const bool awake = has_cores_to_wait_awake(bench);
  std::vector<Plan> plans;
  for (const std::string& name : collective_names()) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    const auto own = name == "all_to_all_v" ? routed : std::nullopt;
    for (std::int64_t bytes : sizes) {
      if (own && leaves_size_out(bench, *exchange, bytes)) continue;
      const auto make = [&bench, name, bytes, awake, own] {
        Case subject =
            own ? collective_case(bench, name, *own, bytes) : collective_case(bench, name, bytes);
        if (awake && bytes <= kAwakeBytes) time_awake_too(bench, subject);
        return subject;
      };
      plans.push_back({fmt::format("{}/{}", name, bytes), make});
    }
  }
  return plans;
}

Benchmark collective_benchmark() {
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto routing = std::make_shared<std::string>();
  const std::vector<BenchmarkOption> own{
      {"--collectives",
       fmt::format("measure these, with commas between them [default: {}]",
                   fmt::join(collective_names(), ", ")),
       names.get()},
      {"--routing",
       "who sends how much to whom in all_to_all_v: uniform, zipf:1.2, a routing file as moe-tune "
       "takes it, or a file with a line of bytes for each sender [default: rank 0 receives twice "
       "as much as others]",
       routing.get()}};
  const auto check = [names, routing](const CommonOptions& common) {
    require_sizes_fit_twice(common);
    if (!routing->empty()) exchange_matrix(*routing, common.file_text, common.ranks);
    for (const std::string& name : *names) {
      if (!names_a_collective(name)) {
        throw moe::InputError(fmt::format("--collectives {}: expected some of {}", name,
                                          fmt::join(collective_names(), ", ")));
      }
    }
  };
  // From sizes on whose time is half latency on a link of 1 Gbit/s: alpha shows there. Below them
  // a call takes no less, and would bend the line.
  Benchmark benchmark{"collectives", own, check,
                      [names, routing](const Bench& bench, const CommonOptions& common) {
                        return collective_plans(bench, *names, common.sizes, *routing,
                                                common.file_text);
                      },
                      "16K:64M:x2"};
  benchmark.file = {"--routing",
                    [routing] { return names_exchange_file(*routing) ? *routing : ""; }};
  return benchmark;
}

const std::vector<Column>& collective_columns() {
  static const std::vector<Column> columns = {
      size_column(),
      {"count", "(elements)", 12,
       [](const Result& r) { return std::to_string(r.measurement.count); }},
      type_column(),
      {"redop", "", 7, [](const Result& r) { return r.redop; }},
      {"root", "", 5, [](const Result& r) { return std::to_string(r.root); }},
      time_column(),
      algorithm_bandwidth_column(),
      bus_bandwidth_column()};
  return columns;
}

const std::vector<Column>& awake_columns() {
  static const std::vector<Column> columns = {{"awake", "(us)", 9, [](const Result& r) {
                                                 return r.awake_s ? four_digits(1e6 * *r.awake_s)
                                                                  : "-";
                                               }}};
  return columns;
}

}  // namespace microbench
