#include "microbench/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "db/console/exit_codes.h"
#include "db/console/output_error.h"
#include "db/console/version.h"
#include "db/identity.h"
#include "db/network.h"
#include "microbench/against.h"
#include "microbench/bench_store.h"
#include "microbench/benchmark_files.h"
#include "microbench/compare/compare_runs.h"
#include "microbench/harness.h"
#include "microbench/table.h"
#include "moe/backend/cuda_module.h"
#include "moe/communicator/announced_work.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/open_device.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/launched_database.h"
#include "moe/run/machine.h"
#include "moe/stop.h"
#include "moe/train/train_store.h"

namespace microbench {
namespace {

moe::DType dtype_of(const std::string& name) {
  for (const moe::DType dtype : {moe::DType::f64, moe::DType::bf16, moe::DType::i32}) {
    if (name == moe::name_of(dtype)) return dtype;
  }
  return moe::DType::f32;
}

/// One rank has nobody to send to, and where everything is measured that is no mistake.
bool leaves_out(const Request& request, const Benchmark& benchmark, int ranks) {
  return request.everything && ranks == 1 && benchmark.run;
}

std::vector<ToMeasure> make_plans(const Bench& bench, const Request& request) {
  std::vector<ToMeasure> all;
  for (const auto& [benchmark, common] : request.chosen) {
    if (leaves_out(request, benchmark, bench.world.size)) continue;
    all.push_back({&benchmark, {}});
    if (benchmark.plans) all.back().plans = benchmark.plans(bench, common);
  }
  return all;
}

/// "collectives --sizes": what a benchmark that does not sweep sizes has in their place.
void refuse_sizes(const Arguments& a, const Benchmark& benchmark) {
  std::vector<std::string> own;
  for (const BenchmarkOption& option : benchmark.options) own.push_back(option.name);
  throw moe::InputError(fmt::format("{} --sizes {}: {} sweeps no sizes in bytes: expected {}",
                                    benchmark.name, a.sizes, benchmark.name, fmt::join(own, ", ")));
}

bool takes_bf16(const std::string& what) {
  return what == "gemm" || what == "collectives" || what == "pairs";
}

/// The comparison with --against, on rank 0 after the run is stored: whether something is slower.
bool is_slower_than_before(const Arguments& a, std::int64_t run) {
  const CompareSettings settings{*a.against, run, a.least, a.across};
  const db::Connection stored = db::open_reader(a.database);
  const Comparison comparison = compare_runs(stored, settings);
  const db::Style style = a.output.style(stdout);
  if (style.format == db::Format::table) {
    print_comparison(stdout, style, settings, comparison);
  } else {
    spdlog::info("{}", summary_line(settings, comparison));
    for (const std::string& line : limit_lines(settings, comparison)) spdlog::info("{}", line);
  }
  if (comparison.has_regressed()) {
    spdlog::error("run {} is slower than run {}: moe-bench compare {} {} --db {} shows all cases",
                  run, *a.against, *a.against, run, a.database);
  }
  return comparison.has_regressed();
}

/// What rank 0 prints with and stores in; both empty on the others, and the writer also where
/// Google Benchmark prints.
struct Results {
  std::optional<ResultWriter> writer;
  std::optional<BenchStore> store;
  std::int64_t wrong = 0;  ///< values that were not what they must be
};

void open_results(Results& results, const Arguments& arguments, const Bench& bench,
                  const std::vector<ToMeasure>& measured, const moe::OpenDevice& device, int argc,
                  char** argv) {
  const std::vector<moe::RankInfo>& ranks = bench.ranks;
  db::Run run = db::this_run("bench", arguments.what, argc, argv);
  if (arguments.in_process) run.network = db::one_gpu_network(arguments.in_process);
  if (!arguments.database.empty()) moe::expect_database_of_launcher(arguments.database);
  if (arguments.against) {
    const MeasuredPlace place{moe::this_machine(), run.network,
                              moe::rank_rows(0, ranks, device.threads)};
    expect_comparable(db::open_reader(arguments.database), arguments, place, bench, measured);
  }
  const std::set<int> nodes = [&] {
    const std::vector<int> of = moe::nodes_of(ranks);
    return std::set<int>(of.begin(), of.end());
  }();
  const Origin origin{ranks.front().hostname, run.started_at, static_cast<int>(nodes.size()),
                      run.revision, run.network};
  if (!arguments.database.empty()) {
    run.device = arguments.device;
    run.ranks = static_cast<int>(ranks.size());
    results.store.emplace(arguments.database, std::move(run), ranks, device.threads,
                          arguments.time_limit_s);
  }
  if (google_prints(arguments.google_options)) return;
  ResultWriter& writer = results.writer.emplace(stdout, arguments.output.style(stdout), origin);
  writer.metadata(db::version_line("moe-bench"));
  const std::string& network = origin.network;
  writer.metadata(fmt::format("{} rank{}, {}, {}{}medians of the slowest rank", ranks.size(),
                              ranks.size() == 1 ? "" : "s", device.backend->name(), network,
                              network.empty() ? "" : ", "));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    writer.metadata(
        fmt::format("  rank {:>3} on {:<16} pid {}", rank, ranks[rank].hostname, ranks[rank].pid));
  }
}

/// On rank 0, after all was measured: the exit code.
int finish(Results& results, const Arguments& arguments) {
  const std::string error = results.wrong == 0 ? "" : fmt::format("{} wrong values", results.wrong);
  if (results.store) {
    results.store->finish(error.empty() ? "done" : "failed", error);
    spdlog::info("run {} in {}", results.store->run_id(), arguments.database);
  }
  if (!error.empty()) spdlog::error(error);
  const bool slower =
      arguments.against && is_slower_than_before(arguments, results.store->run_id());
  return error.empty() && !slower ? db::kExitDone : db::kExitFailed;
}

void run_and_print(const Bench& bench, const Request& request, std::vector<ToMeasure> measured,
                   const std::vector<std::string>& google_options, Results& results) {
  std::optional<ResultWriter>& writer = results.writer;
  std::optional<BenchStore>& store = results.store;
  try {
    const auto report = [&](const Result& result) {
      const moe::AnnouncedWork storing("stores results");
      results.wrong += result.measurement.wrong;
      if (store) store->add({result.measurement, result.quantiles, result.p95_s, result.ranks});
      try {
        if (writer) writer->row(result);
      } catch (const db::OutputError& error) {
        if (!error.closed()) throw;  // otherwise SIGPIPE ends all ranks in order
      }
    };
    std::vector<Plan> plans;
    for (ToMeasure& of : measured) std::ranges::move(of.plans, std::back_inserter(plans));
    run_plans(bench, plans, report, google_options);
    const Reports reports{report,
                          [&](const std::string& line) {
                            if (writer) writer->text(line);
                          },
                          [&](const std::string& finding) {
                            if (writer && writer->is_table()) writer->metadata(finding);
                            if (writer && !writer->is_table()) spdlog::info(finding);
                          }};
    for (const auto& [benchmark, common] : request.chosen) {
      if (!benchmark.run || leaves_out(request, benchmark, bench.world.size)) continue;
      benchmark.run(bench, common, reports);
    }
    if (writer) writer->finish();
  } catch (const db::OutputError& error) {
    if (store) store->abandon(error.closed() ? "done" : "failed", error.what());
    throw;
  } catch (const std::exception& error) {
    const bool killed = moe::stop_signal() != 0 ||
                        dynamic_cast<const moe::Stopped*>(&error) != nullptr ||
                        dynamic_cast<const moe::Interrupted*>(&error) != nullptr;
    if (store) store->abandon(killed ? "killed" : "failed", error.what());
    throw;
  }
}

}  // namespace

Request read_request(const Arguments& a, const std::vector<Benchmark>& offered,
                     const std::string& read) {
  Request request{dtype_of(a.dtype), {}, a.what == "all"};
  if (!a.runs.empty()) {
    throw moe::InputError(fmt::format("{} {}: runs are compared: expected {} RUN RUN", a.what,
                                      fmt::join(a.runs, " "), kCompare));
  }
  if (!a.sizes.empty() && std::ranges::min(moe::parse_sizes(a.sizes)) < 1) {
    throw moe::InputError(fmt::format("--sizes {}: expected at least 1 byte", a.sizes));
  }
  for (const std::string& option : a.google_options) {
    if (!is_google_option(option)) {
      throw moe::InputError(fmt::format("{}: expected an option that --help lists", option));
    }
  }
  if (!a.google_options.empty() && a.ranks.value_or(1) > 1) {
    throw moe::InputError(fmt::format(
        "{} --ranks {}: expected one rank, which is what Google Benchmark measures; --format json "
        "prints the results of several",
        fmt::join(a.google_options, " "), *a.ranks));
  }
  if (request.dtype == moe::DType::bf16 && !takes_bf16(a.what)) {
    throw moe::InputError(fmt::format(
        "--dtype bf16: {}: expected gemm, collectives or pairs, or f32, f64 or i32", a.what));
  }
  if (a.against && a.database.empty()) {
    throw moe::InputError(
        fmt::format("--against {}: expected --db, which holds that run and takes "
                    "this one",
                    *a.against));
  }
  if (a.device == "cuda" && !a.database.empty() && moe::cuda_is_emulated()) {
    throw moe::InputError(
        fmt::format("--device cuda --db {}: this CUDA device is emulated in software, and its "
                    "times say nothing "
                    "about a GPU: expected no --db",
                    a.database));
  }
  const int ranks = a.ranks.value_or(moe::mpi_job_size().value_or(1));
  for (const Benchmark& benchmark : offered) {
    if (!is_chosen(benchmark, a.what)) continue;
    if (!a.sizes.empty() && benchmark.sizes.empty() && a.what != "all") refuse_sizes(a, benchmark);
    const std::string& sizes = a.sizes.empty() ? benchmark.sizes : a.sizes;
    CommonOptions common{{}, sizes, request.dtype, ranks, text_of_file(read, benchmark)};
    if (!sizes.empty()) common.sizes = moe::parse_sizes(sizes);
    benchmark.check(common);
    request.chosen.push_back({benchmark, common});
  }
  if (!moe::inside_mpi_job() && !a.database.empty()) {
    // Opened for writing, which brings a file of an older version up to date.
    const auto connection = db::open_writer(
        a.database, {.busy_timeout_s = a.time_limit_s, .create = !a.against.has_value()});
    if (a.against) expect_benchmark_run(connection, *a.against, a.what);
    moe::tell_ranks(connection);
  }
  return request;
}

std::vector<moe::InputFact> facts_of(const Request& request) {
  std::vector<moe::InputFact> facts;
  for (const auto& [benchmark, common] : request.chosen) {
    std::ranges::move(facts_of_file(benchmark, common.file_text), std::back_inserter(facts));
  }
  return facts;
}

int measure(const Arguments& arguments, const Request& request, moe::Communicator& world, int argc,
            char** argv) {
  const auto ranks = moe::survey_ranks(world, arguments.time_limit_s,
                                       moe::node_in_gpu(arguments.in_process, world.rank));
  const bool cuda = arguments.device == "cuda";
  moe::DeviceWish wish{cuda, arguments.threads, arguments.time_limit_s};
  if (arguments.in_process) wish.cluster = moe::gpu_cluster_of(arguments.in_process);
  const moe::OpenDevice device = moe::open_device(world, ranks, wish);
  std::unique_ptr<moe::Communicator> staged;
  if (cuda && !device.world) {
    std::vector<int> everybody(world.size);
    std::iota(everybody.begin(), everybody.end(), 0);
    staged = moe::make_staged_communicator(world.split(everybody), *device.backend);
  }
  moe::Communicator& fast = device.world ? *device.world : staged ? *staged : world;
  if (request.dtype == moe::DType::bf16 && !cuda && world.rank == 0) {
    if (const std::string remark = moe::remark_on_bf16(); !remark.empty()) spdlog::warn(remark);
  }
  if (const std::string remark = moe::remark_on_threads(device, ranks);
      !remark.empty() && world.rank == 0) {
    spdlog::warn(remark);
  }
  Bench bench{world, fast, *device.backend, request.dtype, arguments.device, {}};
  bench.enqueues = device.world != nullptr;
  bench.ranks = ranks;
  bench.sampling.budget_s = arguments.budget_s;
  bench.sampling.iterations = arguments.iterations;
  bench.sampling.warm_up = arguments.warm_up;
  bench.sampling.time_limit_s = arguments.time_limit_s;

  for (const auto& [benchmark, common] : request.chosen) {
    if (benchmark.check_ranks && !leaves_out(request, benchmark, world.size)) {
      benchmark.check_ranks(ranks);
    }
  }
  std::vector<ToMeasure> measured = make_plans(bench, request);
  Results results;
  if (world.rank == 0) {
    const moe::AnnouncedWork opening("opens its database");
    open_results(results, arguments, bench, measured, device, argc, argv);
  }
  run_and_print(bench, request, std::move(measured), arguments.google_options, results);
  // A wrong value is everybody's failure.
  std::int32_t code = db::kExitDone;
  if (world.rank == 0) {
    const moe::AnnouncedWork storing("stores the end of the run");
    code = finish(results, arguments);
  }
  world.broadcast(&code, 1, moe::DType::i32, 0,
                  {.time_limit_s = arguments.time_limit_s, .what = "exit code"});
  return code;
}

int compare_stored(const Arguments& a) {
  if (a.runs.size() != 2 || a.database.empty()) {
    throw moe::InputError(
        fmt::format("{} {}: expected {} RUN RUN --db FILE, two ids of moe-db runs", kCompare,
                    fmt::join(a.runs, " "), kCompare));
  }
  const CompareSettings settings{a.runs[0], a.runs[1], a.least, a.across};
  const db::Connection connection = db::open_reader(a.database);
  const Comparison comparison = compare_runs(connection, settings);
  print_comparison(stdout, a.output.style(stdout), settings, comparison);
  return comparison.has_regressed() ? db::kExitFailed : db::kExitDone;
}

}  // namespace microbench
