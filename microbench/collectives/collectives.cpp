#include "microbench/collectives/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "microbench/table.h"
#include "moe/errors.h"

namespace microbench {
namespace {

bool names_a_collective(const std::string& name) {
  return std::ranges::find(collective_names(), name) != collective_names().end();
}

}  // namespace

std::vector<Plan> collective_plans(const Bench& bench, const std::vector<std::string>& names,
                                   const std::vector<std::int64_t>& sizes) {
  for (const std::string& name : names) {
    if (!names_a_collective(name)) {
      throw moe::Refusal(fmt::format("collective \"{}\"", name), "",
                         fmt::format("expected one of {}", fmt::join(collective_names(), ", ")));
    }
  }
  std::vector<Plan> plans;
  for (const std::string& name : collective_names()) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    for (std::int64_t bytes : sizes) {
      plans.push_back({fmt::format("{}/{}", name, bytes),
                       [&bench, name, bytes] { return collective_case(bench, name, bytes); }});
    }
  }
  return plans;
}

Benchmark collective_benchmark() {
  const auto names = std::make_shared<std::vector<std::string>>();
  const std::vector<BenchmarkOption> own{
      {"--collectives",
       fmt::format("measure these, with commas between them [default: {}]",
                   fmt::join(collective_names(), ", ")),
       names.get()}};
  const auto check = [names](const CommonOptions& common) {
    require_sizes_fit_twice(common);
    for (const std::string& name : *names) {
      if (!names_a_collective(name)) {
        throw moe::InputError(fmt::format("--collectives {}: expected some of {}", name,
                                          fmt::join(collective_names(), ", ")));
      }
    }
  };
  // From sizes on whose time is half latency on a link of 1 Gbit/s: alpha shows there. Below them
  // a call takes no less, and would bend the line.
  return {"collectives", own, check,
          [names](const Bench& bench, const CommonOptions& common) {
            return collective_plans(bench, *names, common.sizes);
          },
          "16K:64M:x2"};
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

}  // namespace microbench
