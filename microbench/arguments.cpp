#include "microbench/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

namespace microbench {
namespace {

namespace options = db::options;

const char* const kExamples =
    "moe-bench gemm --rows 128:8192:x2 --inputs 1024 --outputs 4096\n"
    "moe-bench collectives --ranks 4 --sizes 1M:64M:x4 --db results.db\n"
    "moe-bench collectives --ranks 4 --collectives all_reduce,all_to_all\n"
    "moe-bench interference --ranks 2 --db results.db\n"
    "moe-bench all --ranks 2 --sizes 4M --db results.db\n"
    "moe-bench gemm --benchmark_out=a.json    # for Google Benchmark's compare.py";

void declare_sweep(CLI::App& app, Arguments& a, const std::vector<Benchmark>& offered) {
  std::vector<std::string> names{"all"};
  for (const Benchmark& benchmark : offered) names.push_back(benchmark.name);
  app.add_option("WHAT", a.what, fmt::format("what to measure: {}", fmt::join(names, ", ")))
      ->required()
      ->check(options::one_of(names))
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
                 "the type of numbers; GEMMs take no i32, and only they take bf16")
      ->capture_default_str()
      ->check(options::one_of({"f32", "f64", "bf16", "i32"}))
      ->type_name("f32|f64|bf16|i32")
      ->group("Sweep");
  app.add_option("--budget", a.budget_s, "how many seconds the samples of one case may take")
      ->capture_default_str()
      ->check(options::seconds())
      ->type_name("S")
      ->group("Sweep");
  for (const Benchmark& benchmark : offered) declare_options(app, benchmark);
}

void declare_machine(CLI::App& app, Arguments& a) {
  app.add_option("--ranks", a.ranks,
                 "how many ranks measure; outside an MPI job, mpirun is started for more than one "
                 "[default: 1, or the ranks of the job, or the tasks of a Slurm allocation]")
      ->check(options::whole_number(1, options::kMostRanks))
      ->type_name("N")
      ->group("Machine");
  options::add_launcher(app, a.launcher, "Machine");
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
  options::add_database(app, arguments.database,
                        "store the measurements in this database, which is created where there is "
                        "none");
  app.get_option("--db")->group("Output");
  options::add_output(app, arguments.output);
}

}  // namespace microbench
