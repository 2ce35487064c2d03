#include "microbench/interference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "microbench/background.h"
#include "microbench/table.h"
#include "microbench/thread_use.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/run/core_sharing.h"

namespace microbench {
namespace {

constexpr char kInterference[] = "interference";
/// An operating system divides a core in time slices of milliseconds: a sample holds many of them.
constexpr double kShortestSample_s = 0.05;
/// The least time that an activity runs alone, and beside another. How long a call of microseconds
/// takes beside another depends on who has the core just then.
constexpr double kShortestRun_s = 0.005;
constexpr double kMostRepeats = 1e6;
constexpr int kMostAttempts = 8;

using Activities = std::vector<std::unique_ptr<Activity>>;

/// Use of cores by threads, per second.
struct PerSecond {
  double processors = 0, wakes = 0, preempted = 0;
};

PerSecond operator+(const PerSecond& a, const PerSecond& b) {
  return {a.processors + b.processors, a.wakes + b.wakes, a.preempted + b.preempted};
}

PerSecond per_second(const ThreadUse& use, double seconds) {
  return {use.processor_s / seconds, static_cast<double>(use.wakes) / seconds,
          static_cast<double>(use.preempted) / seconds};
}

/// The median of each figure.
nlohmann::json to_json(const std::vector<PerSecond>& samples) {
  const auto median_of = [&](double PerSecond::*value) {
    std::vector<double> values;
    for (const PerSecond& sample : samples) values.push_back(sample.*value);
    return db::median(values);
  };
  return {{"processors", median_of(&PerSecond::processors)},
          {"wakes_per_s", median_of(&PerSecond::wakes)},
          {"preempted_per_s", median_of(&PerSecond::preempted)}};
}

/// One y beside some x, on all ranks at the same time.
class Together {
 public:
  Together(const Bench& bench, std::shared_ptr<const Activities> keep, Activity& y,
           std::vector<Activity*> beside)
      : bench_(bench), keep_(std::move(keep)), y_(y), beside_(std::move(beside)) {}

  void prepare() {
    y_.subject.prepare();
    find_repeats();
    for (Activity* x : beside_) {
      x->subject.prepare();
      x->subject.timed(1);  // warms up
      barrier();
      x->call_s = slowest(x->subject.timed(2) / 2);
    }
  }

  /// Seconds of `asked` calls of y beside x, after as many alone: a round. Fewer calls than last
  /// kShortestRun_s alone become so many. Where x does not run during all of y, more calls of both
  /// are made, so that the time without x is a smaller share.
  double timed(int asked) {
    const int calls = std::max(asked, repeats_);
    bench_.backend.forget_marks();
    barrier();
    const double alone_s = slowest(run_y(calls).length_s());
    double least = 0;
    int times = 1;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt, times *= 2) {
      const Sample sample = beside(calls * times, alone_s * times);
      least = -slowest(-sample.overlap);
      if (least >= kLeastOverlap) {
        alone_.push_back(alone_s / calls);
        slowdowns_.push_back(slowest(sample.seconds) / times / alone_s);
        overlaps_.push_back(least);
        y_use_.push_back(sample.y);
        x_use_.push_back(sample.x);
        return sample.seconds / times / calls * asked;
      }
      longer_ *= 2;
    }
    throw std::runtime_error(fmt::format(
        "interference: {} beside {}: the second ran during {:.0f}% of the first, expected "
        "at least {:.0f}%: is this machine busy?",
        y_.name, names(), 100 * least, 100 * kLeastOverlap));
  }

  std::int64_t verify() {
    const double expected_s = alone_.empty() ? y_.call_s : db::median(alone_);
    const auto running = start(expected_s);
    std::int64_t wrong = y_.subject.verify();
    for (const auto& x : running) x->stop();
    for (const Activity* x : beside_) wrong += x->subject.verify();
    return wrong;
  }

  /// A round compares what ran one after the other, so the speed is the median of the rounds' own,
  /// whatever the machine did from round to round.
  void complete(Result& row) const {
    db::Measurement& m = row.measurement;
    // The last ones: before them the number of calls was looked for.
    const auto rounds = std::min(slowdowns_.size(), static_cast<std::size_t>(m.samples));
    const std::vector<double> slowdowns(slowdowns_.end() - static_cast<std::ptrdiff_t>(rounds),
                                        slowdowns_.end());
    row.cv = coefficient_of_variation(slowdowns);
    if (rounds > 1) m.relative_deviation = row.cv;
    const double alone_s = m.time_s / db::median(slowdowns);
    m.parameters_json = nlohmann::json{{"activity", y_.name},    {"beside", names()},
                                       {"alone_s", alone_s},     {"overlap", db::median(overlaps_)},
                                       {"use", to_json(y_use_)}, {"use_beside", to_json(x_use_)}}
                            .dump();
  }

  std::string names() const { return beside_.size() == 1 ? beside_.front()->name : "all"; }

 private:
  struct Sample {
    double seconds = 0;
    double overlap = 0;  ///< share of it during which each x ran, the least of them
    PerSecond y, x;      ///< of this rank's threads; x: of all that ran
  };

  /// The same on every rank.
  void find_repeats() {
    bench_.backend.forget_marks();
    run_y(1);  // warms up
    double lasts_s = 0;
    for (double calls = 1; lasts_s < kShortestRun_s && calls <= kMostRepeats;
         calls *= std::clamp(1.2 * kShortestRun_s / lasts_s, 2.0, 100.0)) {
      repeats_ = static_cast<int>(calls);
      bench_.backend.forget_marks();
      barrier();
      lasts_s = std::max(slowest(run_y(repeats_).length_s()), 1e-9);
    }
  }

  Sample beside(int calls, double alone_s) {
    bench_.backend.forget_marks();
    const auto running = start(alone_s);
    barrier();
    const ThreadUse before = thread_use();
    const db::TimeInterval interval = run_y(calls);
    Sample sample{
        interval.length_s(), 1, per_second(thread_use() - before, interval.length_s()), {}};
    for (const auto& x : running) {
      const std::vector<db::TimeInterval> ran = x->stop();
      sample.overlap =
          std::min(sample.overlap, db::covered_length_s(interval, ran) / interval.length_s());
      if (x->length_s() > 0) sample.x = sample.x + per_second(x->use(), x->length_s());
    }
    return sample;
  }

  /// Starts every x, for longer than y takes, which alone takes `alone_s`.
  std::vector<std::unique_ptr<Background>> start(double alone_s) const {
    std::vector<std::unique_ptr<Background>> running;
    for (const Activity* x : beside_) {
      running.push_back(std::make_unique<Background>(*x, longer_ * alone_s));
    }
    return running;
  }

  /// From the first call's begin to the end of the last.
  db::TimeInterval run_y(int calls) const {
    moe::Backend& backend = bench_.backend;
    moe::share_core_as(backend, y_.subject.stream);
    const moe::Mark begin = backend.mark(y_.subject.stream);
    for (int call = 0; call < calls; ++call) y_.subject.call();
    const moe::Mark end = backend.mark(y_.subject.stream);
    return {backend.time_of(begin), backend.time_of(end)};
  }

  moe::CallContext context() const {
    return {.time_limit_s = bench_.sampling.time_limit_s, .what = kInterference};
  }
  void barrier() const { bench_.world.barrier(context()); }
  /// The largest of all ranks.
  double slowest(double own) const {
    std::vector<double> all(static_cast<std::size_t>(bench_.world.size));
    bench_.world.all_gather(&own, all.data(), 1, moe::DType::f64, context());
    return *std::max_element(all.begin(), all.end());
  }

  const Bench& bench_;
  std::shared_ptr<const Activities> keep_;  ///< all, y and x among them
  Activity& y_;
  std::vector<Activity*> beside_;
  int repeats_ = 1;                ///< calls of y that last kShortestRun_s
  double longer_ = 2;              ///< how many times as long as y alone x lasts (background.h)
  std::vector<double> alone_;      ///< of a call, the slowest rank's
  std::vector<double> slowdowns_;  ///< seconds beside x over those alone, of a round
  std::vector<double> overlaps_;
  std::vector<PerSecond> y_use_, x_use_;  ///< of rank 0's threads, of those that issue on a device
};

const std::vector<Column>& interference_columns() {
  const auto parameter = [](const Result& r, const char* name) {
    return nlohmann::json::parse(r.measurement.parameters_json).at(name);
  };
  const auto text = [=](const char* name, int width) {
    return Column{name, "", width,
                  [=](const Result& r) { return parameter(r, name).get<std::string>(); }};
  };
  const auto number = [=](const char* name, const char* unit, const char* of, const char* key,
                          double factor = 1) {
    return Column{name, unit, static_cast<int>(std::max<std::size_t>(std::strlen(name) + 1, 7)),
                  [=](const Result& r) {
                    return fmt::format("{:.0f}", factor * parameter(r, of).at(key).get<double>());
                  }};
  };
  static const std::vector<Column> columns = {
      text("activity", 14),
      text("beside", 14),
      {"alone", "(us)", 9,
       [=](const Result& r) { return four_digits(1e6 * parameter(r, "alone_s").get<double>()); }},
      time_column(),
      {"speed", "", 7,
       [=](const Result& r) {
         return fmt::format("{:.3f}", parameter(r, "alone_s").get<double>() / r.measurement.time_s);
       }},
      {"overlap", "(%)", 8,
       [=](const Result& r) {
         return fmt::format("{:.1f}", 100 * parameter(r, "overlap").get<double>());
       }},
      number("core", "(%)", "use", "processors", 100),
      number("wakes", "(/s)", "use", "wakes_per_s"),
      number("preempted", "(/s)", "use", "preempted_per_s"),
      number("its_core", "(%)", "use_beside", "processors", 100),
      number("its_wakes", "(/s)", "use_beside", "wakes_per_s"),
      number("its_preempted", "(/s)", "use_beside", "preempted_per_s")};
  return columns;
}

bool computes(const std::string& name) { return name == "computation" || name == "memory_bound"; }

/// Whether activities that compute cannot run at one time: a device has one stream for them.
bool computes_in_turns(const Bench& bench) { return bench.device != "cpu"; }

Activity& named(const Activities& activities, const std::string& name) {
  return **std::ranges::find(activities, name, [](const auto& activity) { return activity->name; });
}

Case together_case(const std::shared_ptr<Together>& together, const Bench& bench,
                   const Activity& y) {
  Case result;
  result.row = y.subject.row;
  result.row.columns = &interference_columns();
  result.row.last_columns = nullptr;
  result.row.in_mean_of_bus_bandwidth = false;
  result.row.redop = "none";
  result.row.measurement.op = kInterference;
  result.row.measurement.ranks = bench.world.size;
  result.prepare = [together] { together->prepare(); };
  result.timed = [together](int calls) { return together->timed(calls); };
  result.verify = [together] { return together->verify(); };
  result.complete = [together](Result& row) { together->complete(row); };
  return result;
}

}  // namespace

std::vector<Plan> interference_plans(const Bench& bench, const std::vector<std::string>& names,
                                     const ActivitySizes& sizes, const std::vector<int>& node) {
  const std::vector<std::string> possible = possible_activities(bench, names, node);
  if (bench.world.rank == 0 && std::ranges::count_if(possible, computes) > 1 &&
      computes_in_turns(bench)) {
    spdlog::warn(
        "interference: computation beside memory_bound is left out: a device computes on one "
        "stream, one after the other");
  }
  // Made when the turn of the first plan comes, because other benchmarks use the arena before.
  const auto activities = std::make_shared<Activities>();
  std::vector<Plan> plans;
  const auto add = [&](const std::string& y, const std::vector<std::string>& beside) {
    const auto make = [=, &bench] {
      if (activities->empty()) *activities = make_activities(bench, possible, sizes, node);
      std::vector<Activity*> others;
      for (const std::string& x : beside) others.push_back(&named(*activities, x));
      Activity& of = named(*activities, y);
      return together_case(std::make_shared<Together>(bench, activities, of, std::move(others)),
                           bench, of);
    };
    plans.push_back(
        {fmt::format("interference/{}/{}", y, fmt::join(beside, "+")), make, kShortestSample_s});
  };
  for (const std::string& y : possible) {
    std::vector<std::string> others;
    for (const std::string& x : possible) {
      if (x == y || (computes(x) && computes(y) && computes_in_turns(bench))) continue;
      add(y, {x});
      const bool also_computes = y == "memory_bound" && x == "computation";
      if (x != "memory_bound" && !also_computes) others.push_back(x);
    }
    if (others.size() > 1) add(y, others);
  }
  return plans;
}

namespace {

struct InterferenceOptions {
  std::vector<std::string> names;
  std::string bytes = "4M", linear = "512x512x2048";

  ActivitySizes sizes() const {
    const auto numbers = moe::split(linear, 'x');
    if (numbers.size() != 3) {
      throw moe::InputError(fmt::format(
          "--beside-linear {}: expected rows, inputs and outputs, as 512x512x2048", linear));
    }
    return {
        moe::parse_size(bytes),
        {moe::parse_size(numbers[0]), moe::parse_size(numbers[1]), moe::parse_size(numbers[2])}};
  }
};

void check_activities(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(activity_names(), name) == activity_names().end()) {
      throw moe::InputError(fmt::format("--activities {}: expected some of {}", name,
                                        fmt::join(activity_names(), ", ")));
    }
    if (std::ranges::count(names, name) > 1) {
      throw moe::InputError(fmt::format("--activities: {} is named twice", name));
    }
  }
  if (names.size() == 1) {
    throw moe::InputError(fmt::format("--activities {}: expected at least two of {}", names.front(),
                                      fmt::join(activity_names(), ", ")));
  }
}

void check_sizes(const InterferenceOptions& options) {
  const ActivitySizes sizes = options.sizes();
  const LinearSizes& linear = sizes.linear;
  if (std::min({sizes.bytes, linear.rows, linear.inputs, linear.outputs}) < 1) {
    throw moe::InputError(fmt::format("--beside-size {} --beside-linear {}: expected at least 1",
                                      options.bytes, options.linear));
  }
  const auto rows = static_cast<double>(linear.rows), inputs = static_cast<double>(linear.inputs),
             outputs = static_cast<double>(linear.outputs);
  const double bytes =
      9 * static_cast<double>(sizes.bytes) + 8 * (rows * (inputs + outputs) + inputs * outputs);
  if (bytes > static_cast<double>(memory_bytes())) {
    throw moe::InputError(fmt::format(
        "--beside-size {} --beside-linear {}: {:.3g} GiB: expected at most {}", options.bytes,
        options.linear, bytes / 0x1p30, db::format_cell("bytes", memory_bytes())));
  }
}

}  // namespace

Benchmark interference_benchmark() {
  const auto options = std::make_shared<InterferenceOptions>();
  const std::vector<BenchmarkOption> own{
      {"--activities",
       fmt::format("measure these, with commas between them [default: {}]",
                   fmt::join(activity_names(), ", ")),
       &options->names},
      {"--beside-size", "how many bytes copies and messages beside each other have",
       &options->bytes},
      {"--beside-linear", "rows x inputs x outputs of the product beside others",
       &options->linear}};
  const auto check = [options](const CommonOptions& common) {
    check_activities(options->names);
    check_sizes(*options);
    if (common.dtype == moe::DType::i32) {
      throw moe::InputError("--dtype i32: GEMMs are measured with f32 or f64");
    }
  };
  Benchmark benchmark{kInterference, own, check,
                      [options](const Bench& bench, const CommonOptions&) {
                        return interference_plans(bench, options->names, options->sizes(),
                                                  moe::nodes_of(bench.ranks));
                      }};
  benchmark.op = kInterference;
  return benchmark;
}

}  // namespace microbench
