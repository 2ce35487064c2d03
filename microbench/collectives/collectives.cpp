#include "microbench/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "microbench/table.h"
#include "moe/errors.h"

namespace microbench {
namespace {

using MakeCase = Case (*)(const Bench&, std::int64_t bytes);

const std::vector<std::pair<moe::Collective, MakeCase>>& table() {
  static const std::vector<std::pair<moe::Collective, MakeCase>> cases = {
      {moe::Collective::all_to_all, all_to_all_case},
      {moe::Collective::all_to_all_v, all_to_all_v_case},
      {moe::Collective::all_gather, all_gather_case},
      {moe::Collective::reduce_scatter, reduce_scatter_case},
      {moe::Collective::all_reduce, all_reduce_case},
      {moe::Collective::broadcast, broadcast_case},
  };
  return cases;
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& entry : table()) all.emplace_back(moe::name_of(entry.first));
    return all;
  }();
  return names;
}

std::vector<Plan> collective_plans(const Bench& bench, const std::vector<std::string>& names,
                                   const std::vector<std::int64_t>& sizes) {
  for (const std::string& name : names) {
    if (std::ranges::find(collective_names(), name) == collective_names().end()) {
      throw std::invalid_argument(fmt::format("collective \"{}\": expected one of {}", name,
                                              fmt::join(collective_names(), ", ")));
    }
  }
  std::vector<Plan> plans;
  for (const auto& [collective, make] : table()) {
    const std::string name(moe::name_of(collective));
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    for (std::int64_t bytes : sizes) {
      plans.push_back({fmt::format("{}/{}", name, bytes),
                       [&bench, make = make, bytes] { return make(bench, bytes); }});
    }
  }
  return plans;
}

Benchmark collective_benchmark() {
  const auto names = std::make_shared<std::vector<std::string>>();
  const std::vector<BenchmarkOption> own{
      {"--collectives", fmt::format("measure these, with commas between them [default: {}]", fmt::join(collective_names(), ", ")),
       names.get()}};
  const auto check = [names](const CommonOptions& common) {
    require_sizes_fit_twice(common);
    for (const std::string& name : *names) {
      if (std::ranges::find(collective_names(), name) == collective_names().end()) {
        throw moe::InputError(fmt::format("--collectives {}: expected some of {}", name,
                                          fmt::join(collective_names(), ", ")));
      }
    }
  };
  return {"collectives", own, check, [names](const Bench& bench, const CommonOptions& common) {
            return collective_plans(bench, *names, common.sizes);
          }};
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

CollectiveCase::CollectiveCase(const Bench& bench, moe::Collective collective,
                               const std::vector<std::int64_t>& counts)
    : bench(&bench), dtype(bench.dtype) {
  std::vector<std::int64_t> bytes;
  for (std::int64_t count : counts) bytes.push_back(count * moe::bytes_of(dtype));
  buffers = place(bench, bytes);
  call.stream = bench.collective_stream;
  call.native_stream = bench.backend.native_stream(call.stream);
  call.time_limit_s = bench.sampling.time_limit_s;
  call.what = moe::name_of(collective);
}

TimedCalls CollectiveCase::timed(std::function<void()> one_call) const {
  return [this_bench = bench, stream = call.stream, one_call = std::move(one_call)](int calls) {
    return timed_on_device(this_bench->backend, stream, calls, one_call);
  };
}

Result collective_row(const Bench& bench, moe::Collective collective, std::int64_t total_count,
                      std::int64_t count) {
  Result row;
  row.columns = &collective_columns();
  row.in_mean_of_bus_bandwidth = true;
  row.bus_factor = moe::bus_factor(collective, bench.world.size);
  row.measurement.op = moe::name_of(collective);
  row.measurement.device = bench.device;
  row.measurement.dtype = dtype_name(bench.dtype);
  row.measurement.ranks = bench.world.size;
  row.measurement.parameters_json = "{}";
  row.measurement.bytes = total_count * moe::bytes_of(bench.dtype);
  row.measurement.count = count;
  return row;
}

std::int64_t whole_elements(const Bench& bench, std::int64_t bytes, int multiple) {
  const std::int64_t count = bytes / moe::bytes_of(bench.dtype);
  return std::max<std::int64_t>(count / multiple, 1) * multiple;
}

}  // namespace microbench
