#include "microbench/against.h"

#include <fmt/format.h>

#include <algorithm>

#include "db/load.h"
#include "moe/errors.h"

namespace microbench {
namespace {

bool has_case_in_common(const std::vector<db::SampledMeasurement>& stored, const Bench& bench,
                        const ToMeasure& of) {
  const std::string& op = of.benchmark->op;
  if (op.empty()) {
    return std::ranges::any_of(
        of.plans, [&](const Plan& plan) { return has_case(stored, plan.make().row.measurement); });
  }
  return std::ranges::any_of(stored, [&](const db::SampledMeasurement& row) {
    return row.measurement.op == op && row.measurement.device == bench.device &&
           !row.quantiles.empty();
  });
}

}  // namespace

void expect_benchmark_run(const db::Connection& connection, std::int64_t against,
                          const std::string& what) {
  const db::Run run = db::load_run(connection, against);
  const bool is_of = run.name == what || run.name == "all" || what == "all";
  if (run.kind == "bench" && is_of) return;
  throw moe::InputError(
      fmt::format("--against {}: {}: run {} is {} {}: expected one of moe-bench {}", against,
                  connection.path(), against, run.kind, run.name, what));
}

void expect_comparable(const db::Connection& connection, const Arguments& arguments,
                       const MeasuredPlace& place, const Bench& bench,
                       const std::vector<ToMeasure>& measured) {
  const std::int64_t against = *arguments.against;
  expect_benchmark_run(connection, against, arguments.what);
  if (!arguments.across) expect_same_place(connection, against, place, "this one", false);
  const auto stored = db::load_sampled_measurements(connection, against);
  if (std::ranges::any_of(
          measured, [&](const ToMeasure& of) { return has_case_in_common(stored, bench, of); })) {
    return;
  }
  const auto with_samples = std::ranges::count_if(
      stored, [](const db::SampledMeasurement& row) { return !row.quantiles.empty(); });
  throw moe::InputError(fmt::format(
      "--against {}: {}: run {} has {} cases with samples, and none of them is measured now: "
      "expected the same op, device, dtype, ranks, size and parameters",
      against, connection.path(), against, with_samples));
}

}  // namespace microbench
