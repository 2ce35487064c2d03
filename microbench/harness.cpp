#include "microbench/harness.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "moe/errors.h"

namespace microbench {
namespace {

constexpr std::string_view kGooglePrefix = "--benchmark_";

/// The case that is measured now. There is one at a time.
class Current {
 public:
  const Case& of(const Plan& plan, int warm_up) {
    if (plan_ == &plan) return *case_;
    plan_ = nullptr;
    case_.reset();
    case_.emplace(plan.make());
    case_->prepare();
    for (int i = 0; i < warm_up; ++i) case_->timed(1);
    plan_ = &plan;
    repetitions_ = 0;
    begun_ = std::chrono::steady_clock::now();
    return *case_;
  }
  void end() {
    plan_ = nullptr;
    case_.reset();
  }
  void count_repetition() { ++repetitions_; }
  /// Whether the samples of this case have taken longer, and enough repetitions are done.
  bool has_spent(double budget_s) const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun_;
    return repetitions_ >= kSamplesWithoutBudget && spent.count() > budget_s;
  }

 private:
  const Plan* plan_ = nullptr;
  std::optional<Case> case_;
  int repetitions_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

/// Takes the statistics of each case from Google Benchmark's report, verifies the case, and hands
/// the result on. `shown` prints in Google Benchmark's own format; it may be null.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter(const Bench& bench, const std::vector<Plan>& plans, Current& current,
           const std::function<void(const Result&)>& report,
           std::unique_ptr<benchmark::BenchmarkReporter> shown)
      : bench_(bench), current_(current), report_(report), shown_(std::move(shown)) {
    for (const Plan& plan : plans) plans_.emplace(plan.name, &plan);
  }

  bool ReportContext(const Context& context) override {
    return shown_ == nullptr || shown_->ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    if (shown_) shown_->ReportRuns(runs);
    Summary summary;
    bool complete = false;
    if (runs.front().run_type == Run::RT_Iteration) {
      for (const Run& run : runs) {
        if (!run.error_occurred) samples_.push_back(seconds_of(run));
      }
    }
    for (const Run& run : runs) {
      if (run.error_occurred) continue;
      const double seconds = seconds_of(run);
      if (run.run_type == Run::RT_Iteration) {
        // For several repetitions, statistics follow.
        if (run.repetitions > 1) continue;
        summary = {.median_s = seconds, .min_s = seconds, .max_s = seconds, .cv = 0, .samples = 1};
        complete = true;
      } else {
        complete = true;
        // With --benchmark_report_aggregates_only, only the statistics know the number.
        summary.samples = static_cast<int>(samples_.empty() ? run.iterations : samples_.size());
        if (run.aggregate_name == "median") summary.median_s = seconds;
        if (run.aggregate_name == "min") summary.min_s = seconds;
        if (run.aggregate_name == "max") summary.max_s = seconds;
        if (run.aggregate_name == "cv") summary.cv = run.real_accumulated_time;
      }
    }
    if (!complete) return;
    const Plan& plan = *plans_.at(runs.front().run_name.function_name);
    summary.seconds = samples_;
    if (!samples_.empty()) summary.by_rank = {samples_};
    report_(result_of(bench_, current_.of(plan, bench_.sampling.warm_up), summary));
    current_.end();
    samples_.clear();
    plans_.erase(plan.name);
  }
  void Finalize() override {
    if (shown_) shown_->Finalize();
  }
  /// Plans of which no result was reported, by name.
  const std::map<std::string, const Plan*>& unreported() const { return plans_; }

 private:
  static double seconds_of(const Run& run) {
    return run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
  }

  const Bench& bench_;
  Current& current_;
  const std::function<void(const Result&)>& report_;
  std::unique_ptr<benchmark::BenchmarkReporter> shown_;
  std::map<std::string, const Plan*> plans_;  ///< not reported yet
  std::vector<double> samples_;  ///< repetitions of the case that were reported and not skipped
};

double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}
double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

void run_on_google_benchmark(const Bench& bench, const std::vector<Plan>& plans,
                             const std::function<void(const Result&)>& report,
                             const std::vector<std::string>& google_options) {
  set_google_options(bench, google_options);
  static const bool described = [&] {
    benchmark::AddCustomContext("backend", bench.backend.name());
    benchmark::AddCustomContext("dtype", std::string(moe::name_of(bench.dtype)));
    return true;
  }();
  static_cast<void>(described);
  const FixedSamples fixed = fixed_samples(bench.sampling.iterations);
  const bool within_budget = google_options.empty() && fixed.samples == 0;
  Current current;
  benchmark::ClearRegisteredBenchmarks();
  for (const Plan& plan : plans) {
    const auto run = [&](benchmark::State& state) {
      const Case& subject = current.of(plan, bench.sampling.warm_up);
      double seconds = 0;
      while (state.KeepRunningBatch(state.max_iterations)) {
        // Inside the loop, because all repetitions must count the same number of iterations.
        if (within_budget && current.has_spent(bench.sampling.budget_s)) {
          state.SkipWithError("the budget is spent");
          return;
        }
        seconds = subject.timed(static_cast<int>(state.max_iterations));
        state.SetIterationTime(seconds);
      }
      throw_if_stopped();
      // Shorter runs are those by which Google Benchmark finds the number of iterations.
      const double shortest_s =
          plan.shortest_sample_s > 0 ? plan.shortest_sample_s : bench.sampling.shortest_sample_s;
      if (seconds >= shortest_s) current.count_repetition();
      const db::Measurement& of = subject.row.measurement;
      if (of.bytes > 0) state.SetBytesProcessed(state.iterations() * of.bytes);
      if (of.flops > 0) {
        state.counters["FLOPS"] =
            benchmark::Counter(of.flops, benchmark::Counter::kIsIterationInvariantRate);
      }
    };
    auto* registered = benchmark::RegisterBenchmark(plan.name.c_str(), run)
                           ->UseManualTime()
                           ->Unit(benchmark::kMicrosecond)
                           ->ComputeStatistics("min", smallest)
                           ->ComputeStatistics("max", largest);
    if (fixed.samples > 0) {
      registered->Repetitions(fixed.samples)->Iterations(fixed.calls);
    } else if (plan.shortest_sample_s > 0) {
      registered->MinTime(plan.shortest_sample_s);
    }
  }
  Reporter reporter(
      bench, plans, current, report,
      std::unique_ptr<benchmark::BenchmarkReporter>(
          google_prints(google_options) ? benchmark::CreateDefaultDisplayReporter() : nullptr));
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  // Options of Google Benchmark may choose some of the plans, or only list them.
  if (google_options.empty() && !reporter.unreported().empty()) {
    throw std::runtime_error(fmt::format("{}: Google Benchmark reported no result",
                                         reporter.unreported().begin()->first));
  }
}

}  // namespace

bool is_google_option(const std::string& argument) { return argument.starts_with(kGooglePrefix); }

bool google_prints(const std::vector<std::string>& google_options) {
  return std::ranges::any_of(google_options, [](const std::string& option) {
    return option.starts_with("--benchmark_format") || option.starts_with("--benchmark_list_tests");
  });
}

void set_google_options(const Bench& bench, const std::vector<std::string>& google_options) {
  for (const std::string& option : google_options) {
    // Otherwise Google Benchmark prints its help and ends with 0.
    const auto value = option.substr(option.find('=') + 1);
    const bool format =
        option.starts_with("--benchmark_format") || option.starts_with("--benchmark_out_format");
    if (format && value != "console" && value != "json" && value != "csv") {
      throw moe::InputError(fmt::format("{}: expected console, json or csv", option));
    }
  }
  // The last of two options with one name holds.
  std::vector<std::string> all{
      fmt::format("--benchmark_repetitions={}", kRepetitions),
      fmt::format("--benchmark_min_time={}", bench.sampling.shortest_sample_s)};
  all.insert(all.end(), google_options.begin(), google_options.end());
  static char program[] = "moe-bench";  // Google Benchmark keeps the address
  std::vector<char*> arguments{program};
  for (std::string& argument : all) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) {
    throw moe::InputError(fmt::format("{}: Google Benchmark has no such option", arguments[1]));
  }
}

void run_plans(const Bench& bench, const std::vector<Plan>& plans,
               const std::function<void(const Result&)>& report,
               const std::vector<std::string>& google_options) {
  if (plans.empty()) return;
  if (bench.world.size == 1) {
    run_on_google_benchmark(bench, plans, report, google_options);
    return;
  }
  if (!google_options.empty()) {
    throw moe::InputError(
        fmt::format("{}: Google Benchmark measures one rank and here are {}: --format json prints "
                    "the results of several",
                    fmt::join(google_options, " "), bench.world.size));
  }
  for (const Plan& plan : plans) {
    report(measure(bench, plan.make(), plan.shortest_sample_s));
  }
}

}  // namespace microbench
