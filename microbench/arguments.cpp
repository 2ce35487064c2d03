#include "microbench/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace microbench {
namespace {

namespace options = db::options;

const char* const kExamples =
    "moe-bench gemm --rows 128:8192:x2 --inputs 1024 --outputs 4096\n"
    "moe-bench collectives --ranks 4 --sizes 1M:64M:x4 --db results.db\n"
    "moe-bench collectives --ranks 4 --collectives all_reduce --sizes 8:64K:x2 -n 1000\n"
    "moe-bench collectives --ranks 4 --collectives all_to_all_v --routing zipf:1.2\n"
    "moe-bench pairs --ranks 4                # which node, card or link is slow?\n"
    "moe-bench interference --ranks 2 --db results.db\n"
    "moe-bench all --ranks 2 --sizes 4M --db results.db\n"
    "moe-bench all --ranks 2 --db results.db --against 3\n"
    "moe-bench compare 3 7 --db results.db    # exit code 1 where run 7 is slower\n"
    "moe-bench gemm --benchmark_out=a.json    # for Google Benchmark's compare.py";

/// Replaces "5%" by 0.05 and accepts shares from 0 to 1.
CLI::Validator share_of_percent() {
  CLI::Validator validator = options::share();
  validator.operation([check = options::share()](std::string& text) {
    if (text.ends_with('%')) {
      const std::string number = text.substr(0, text.size() - 1);
      char* end = nullptr;
      const double percent = std::strtod(number.c_str(), &end);
      if (end == number.c_str() || *end != '\0')
        return fmt::format("expected a share, got {}", text);
      text = fmt::format("{}", percent / 100);
    }
    return check(text);
  });
  return validator;
}

void declare_sweep(CLI::App& app, Arguments& a, const std::vector<Benchmark>& offered) {
  std::vector<std::string> names{"all"};
  for (const Benchmark& benchmark : offered) names.push_back(benchmark.name);
  const std::string listed = fmt::format("{}", fmt::join(names, ", "));
  names.emplace_back(kCompare);
  app.add_option("WHAT", a.what,
                 fmt::format("what to measure: {}; or {}: two stored runs", listed, kCompare))
      ->required()
      ->check(options::one_of(names))
      ->type_name("");
  app.add_option("RUN", a.runs, fmt::format("the two runs of {}, the older one first", kCompare))
      ->expected(2)
      ->check(options::whole_number(1))
      ->type_name("");
  std::vector<std::string> defaults;
  for (const Benchmark& benchmark : offered) {
    if (!benchmark.sizes.empty()) {
      defaults.push_back(fmt::format("{} for {}", benchmark.sizes, benchmark.name));
    }
  }
  app.add_option("--sizes", a.sizes,
                 fmt::format("how many bytes collectives and copies move: FIRST:LAST:xN multiplies "
                             "by N, FIRST:LAST:+N adds N, and commas make a list [default: {}]",
                             fmt::join(defaults, ", ")))
      ->type_name("SIZES")
      ->group("Sweep");
  app.add_option("--dtype", a.dtype,
                 "the type of numbers; GEMMs take no i32, and copies and interference no bf16")
      ->capture_default_str()
      ->check(options::one_of({"f32", "f64", "bf16", "i32"}))
      ->type_name("f32|f64|bf16|i32")
      ->group("Sweep");
  app.add_option("--budget", a.budget_s, "how many seconds the samples of one case may take")
      ->capture_default_str()
      ->check(options::seconds())
      ->type_name("S")
      ->group("Sweep");
  app.add_option(
         "-n,--iterations", a.iterations,
         "time at least so many calls of each case, in up to 20 samples [default: until the median "
         "is known to 1%, or the budget is spent]")
      ->check(options::whole_number(1, 1'000'000'000))
      ->type_name("N")
      ->group("Sweep");
  app.add_option("-w,--warm-up", a.warm_up, "calls before the first that is timed")
      ->capture_default_str()
      ->check(options::whole_number(0, 1'000'000))
      ->type_name("N")
      ->group("Sweep");
  for (const Benchmark& benchmark : offered) declare_options(app, benchmark);
}

void declare_machine(CLI::App& app, Arguments& a) {
  app.add_option("--ranks", a.ranks,
                 "how many ranks measure; outside an MPI job, mpirun is started for more than one "
                 "[default: 1, or the ranks of the job, or the slots of --hostfile, or the tasks "
                 "of a Slurm allocation]")
      ->check(options::whole_number(1, options::kMostRanks))
      ->type_name("N")
      ->group("Machine");
  options::add_launcher(app, a.launcher, "Machine");
  options::add_in_process(app, a.in_process, "Machine");
  options::add_device(app, a.device, "where buffers are and GEMMs run");
  app.get_option("--device")->group("Machine");
  app.add_option("--threads", a.threads,
                 "how many CPU threads a rank computes with [default: OMP_NUM_THREADS, or the "
                 "cores divided by the ranks]")
      ->check(options::whole_number(1, options::kMostThreads))
      ->type_name("N")
      ->group("Machine");
  app.add_option("--time-limit", a.time_limit_s,
                 "how many seconds a rank waits for others before the job ends")
      ->capture_default_str()
      ->check(options::seconds())
      ->type_name("S")
      ->group("Machine");
}

void declare_comparison(CLI::App& app, Arguments& a) {
  app.add_option("--against", a.against,
                 "after measuring, compare with this run of --db; exit code 1 where something is "
                 "slower")
      ->check(options::whole_number(1))
      ->type_name("RUN")
      ->group("Comparison");
  app.add_option("--least", a.least, "changes up to this share are none: 5% or 0.05")
      ->transform(share_of_percent())
      ->default_str("5%")
      ->type_name("SHARE")
      ->group("Comparison");
  app.add_flag("--across", a.across, "compare although machines, networks, nodes or threads differ")
      ->group("Comparison");
}

}  // namespace

void declare_options(CLI::App& app, const Benchmark& benchmark) {
  for (const BenchmarkOption& option : benchmark.options) {
    CLI::Option* declared = nullptr;
    if (const auto* text = std::get_if<std::string*>(&option.value)) {
      declared = app.add_option(option.name, **text, option.help)->capture_default_str();
    } else if (const auto* number = std::get_if<NumberWithin>(&option.value)) {
      declared = app.add_option(option.name, *number->value, option.help)
                     ->capture_default_str()
                     ->check(options::whole_number(number->least, number->most));
    } else {
      auto* list = std::get<std::vector<std::string>*>(option.value);
      declared = app.add_option(option.name, *list, option.help)->delimiter(',');
    }
    declared->type_name("VALUE")->group(fmt::format("Of {}", benchmark.name));
  }
}

void declare(CLI::App& app, Arguments& arguments, const std::vector<Benchmark>& offered) {
  options::set_up_program(app, kExamples,
                          "A wrong result (#wrong above 0) ends in exit code 1.\n\n"
                          "Google Benchmark measures where there is one rank, and its options work "
                          "too: --benchmark_format=json, --benchmark_out=FILE, "
                          "--benchmark_repetitions=N, --benchmark_min_time=SECONDS and "
                          "--benchmark_filter=REGEX.");
  app.allow_extras();  // the options of Google Benchmark
  declare_sweep(app, arguments, offered);
  declare_machine(app, arguments);
  declare_comparison(app, arguments);
  options::add_database(app, arguments.database,
                        "store the measurements in this database, which is created where there is "
                        "none");
  app.get_option("--db")->group("Output");
  options::add_output(app, arguments.output);
}

}  // namespace microbench
