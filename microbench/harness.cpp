#include "microbench/harness.h"

#include <benchmark/benchmark.h>

#include <optional>

namespace microbench {
namespace {

/// Hands each measurement on where Google Benchmark would print.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter(std::optional<Result>& measured, const std::function<void(const Result&)>& report)
      : measured_(measured), report_(report) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {
    if (measured_) report_(*measured_);
    measured_.reset();
  }

 private:
  std::optional<Result>& measured_;
  const std::function<void(const Result&)>& report_;
};

}  // namespace

void run_plans(const Bench& bench, const std::vector<Plan>& plans,
               const std::function<void(const Result&)>& report) {
  if (plans.empty()) return;
  std::optional<Result> measured;
  benchmark::ClearRegisteredBenchmarks();
  for (const Plan& plan : plans) {
    benchmark::RegisterBenchmark(plan.name.c_str(),
                                 [&](benchmark::State& state) {
                                   for (auto _ : state) {
                                     static_cast<void>(_);
                                     measured = measure(bench, plan.make());
                                     state.SetIterationTime(measured->measurement.time_s);
                                   }
                                   state.SetBytesProcessed(measured->measurement.bytes);
                                 })
        ->UseManualTime()
        ->Iterations(1);
  }
  Reporter reporter(measured, report);
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace microbench
