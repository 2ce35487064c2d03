#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>
#include <optional>

#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/console/version.h"
#include "db/identity.h"
#include "microbench/bench_store.h"
#include "microbench/benchmarks.h"
#include "microbench/declare_options.h"
#include "microbench/harness.h"
#include "microbench/sizes.h"
#include "microbench/table.h"
#include "moe/communicator/launch.h"
#include "moe/communicator/open_device.h"
#include "moe/errors.h"
#include "moe/stop.h"

namespace microbench {
namespace {

struct Arguments {
  std::string what;
  std::optional<int> ranks;
  std::string sizes = "256K:64M:x2";
  std::string dtype = "f32";
  std::string device = "cpu";
  int threads = 0;
  double budget_s = 2;
  double time_limit_s = 60;
  std::string database;
  std::string format = "table";
};

void declare(CLI::App& app, Arguments& a, const std::vector<Benchmark>& offered) {
  std::vector<std::string> names{"all"};
  for (const Benchmark& benchmark : offered) names.push_back(benchmark.name);
  app.add_option("WHAT", a.what, fmt::format("{}", fmt::join(names, ", ")))
      ->required()
      ->check(db::options::one_of(names));
  app.add_option("--ranks", a.ranks, "ranks; outside an MPI job starts mpirun [1, or the job's]")
      ->check(db::options::whole_number(1, db::options::kMostRanks));
  app.add_option("--sizes", a.sizes,
                 "bytes of collectives and copies: FIRST:LAST:xN or :+N, or a list")
      ->capture_default_str();
  for (const Benchmark& benchmark : offered) declare_options(app, benchmark);
  app.add_option("--dtype", a.dtype, "f32, f64 or i32 (no GEMMs)")
      ->capture_default_str()
      ->check(db::options::one_of({"f32", "f64", "i32"}));
  app.add_option("--device", a.device, "where buffers are and GEMMs run")
      ->capture_default_str()
      ->check(db::options::one_of({"cpu", "cuda"}));
  app.add_option("--threads", a.threads,
                 "CPU threads per rank [OMP_NUM_THREADS, or cores divided by ranks]")
      ->check(db::options::whole_number(1, db::options::kMostThreads));
  app.add_option("--budget", a.budget_s, "seconds that the samples of one case may take")
      ->capture_default_str()
      ->check(db::options::seconds());
  app.add_option("--time-limit", a.time_limit_s, "seconds that a wait for other ranks may last")
      ->capture_default_str()
      ->check(db::options::seconds());
  app.add_option("--db", a.database, "result database; created where there is none");
  app.add_option("--format", a.format, "table, csv or json")
      ->capture_default_str()
      ->check(db::options::one_of({"table", "csv", "json"}));
  app.set_version_flag("--version", [] { return db::version_line("moe-bench"); });
  app.footer(
      "Examples:\n"
      "  moe-bench gemm --rows 128:8192:x2 --inputs 1024 --outputs 4096\n"
      "  moe-bench collectives --ranks 4 --sizes 1M:64M:x4 --db results.db\n"
      "  moe-bench collectives --ranks 4 --collectives all_reduce,all_to_all --format csv\n"
      "  moe-bench interference --ranks 2 --db results.db\n"
      "  moe-bench all --ranks 2 --sizes 4M --db results.db\n\n"
      "Exit codes: 0 done, 1 a value was wrong or a run failed, 2 wrong use, 124 time limit, 128 + "
      "N ended "
      "by signal N.");
}

moe::DType dtype_of(const std::string& name) {
  return name == "f64" ? moe::DType::f64 : name == "i32" ? moe::DType::i32 : moe::DType::f32;
}

/// What the command line asks for, read before any rank is started.
struct Request {
  CommonOptions common;
  std::vector<Benchmark> chosen;
};

Request read_request(const Arguments& a, const std::vector<Benchmark>& offered) {
  Request request{{parse_sizes(a.sizes), a.sizes, dtype_of(a.dtype)}, {}};
  const auto& sizes = request.common.sizes;
  if (*std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw moe::InputError(fmt::format("--sizes {}: expected at least 1 byte", a.sizes));
  }
  for (const Benchmark& benchmark : offered) {
    if (a.what != "all" && a.what != benchmark.name) continue;
    benchmark.check(request.common);
    request.chosen.push_back(benchmark);
  }
  if (!moe::inside_mpi_job() && !a.database.empty()) {
    db::open_writer(a.database, {.busy_timeout_s = a.time_limit_s});
  }
  return request;
}

std::vector<Plan> make_plans(const Bench& bench, const Request& request) {
  std::vector<Plan> plans;
  for (const Benchmark& benchmark : request.chosen) {
    std::ranges::move(benchmark.plans(bench, request.common), std::back_inserter(plans));
  }
  return plans;
}

/// Returns the exit code.
int run(const Arguments& arguments, const Request& request, moe::Communicator& world, int argc,
        char** argv) {
  const auto ranks = moe::survey_ranks(world);
  const bool cuda = arguments.device == "cuda";
  const moe::OpenDevice device =
      moe::open_device(world, ranks, {cuda, arguments.threads, arguments.time_limit_s});
  std::unique_ptr<moe::Communicator> staged;
  if (cuda && !device.nccl) {
    std::vector<int> everybody(world.size);
    std::iota(everybody.begin(), everybody.end(), 0);
    staged = moe::make_staged_communicator(world.split(everybody), *device.backend);
  }
  moe::Communicator& measured = device.nccl ? *device.nccl : staged ? *staged : world;
  Bench bench{world, measured, *device.backend, request.common.dtype, arguments.device, {}};
  bench.enqueues = device.nccl != nullptr;
  bench.sampling.budget_s = arguments.budget_s;
  bench.sampling.time_limit_s = arguments.time_limit_s;

  std::optional<ResultWriter> writer;
  std::optional<BenchStore> store;
  if (world.rank == 0) {
    if (!arguments.database.empty()) {
      db::Run run = db::this_run("bench", arguments.what, argc, argv);
      run.device = arguments.device;
      run.ranks = world.size;
      store.emplace(arguments.database, std::move(run), ranks, device.threads,
                    arguments.time_limit_s);
    }
    writer.emplace(stdout, *db::parse_format(arguments.format));
    writer->metadata(db::version_line("moe-bench"));
    writer->metadata(fmt::format("{} rank{}, {}, medians of the slowest rank", world.size,
                                 world.size == 1 ? "" : "s", device.backend->name()));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      writer->metadata(fmt::format("  rank {:>3} on {:<16} pid {}", rank, ranks[rank].hostname,
                                   ranks[rank].pid));
    }
  }
  try {
    run_plans(bench, make_plans(bench, request), [&](const Result& result) {
      if (store) store->add(result.measurement);
      try {
        if (writer) writer->row(result);
      } catch (const db::OutputError& error) {
        if (!error.closed()) throw;  // else SIGPIPE says so too, and all ranks end in order
      }
    });
    if (!writer) return 0;
    writer->finish();
  } catch (const db::OutputError& error) {
    if (store) store->abandon(error.closed() ? "done" : "failed", error.what());
    throw;
  } catch (const moe::Stopped& stopped) {
    if (store) store->abandon("killed", stopped.what());
    throw;
  } catch (const std::exception& error) {
    if (store) store->abandon(moe::stop_signal() != 0 ? "killed" : "failed", error.what());
    throw;
  }
  const std::string error =
      writer->wrong() == 0 ? "" : fmt::format("{} wrong values", writer->wrong());
  if (store) {
    store->finish(error.empty() ? "done" : "failed", error);
    std::cerr << fmt::format("moe-bench: run {} in {}\n", store->run_id(), arguments.database);
  }
  if (!error.empty()) std::cerr << fmt::format("moe-bench: {}\n", error);
  return error.empty() ? 0 : 1;
}

}  // namespace
}  // namespace microbench

int main(int argc, char** argv) {
  microbench::Arguments arguments;
  CLI::App app(
      "Measures GEMMs, collectives, copies and how they slow each other down with the kernels and "
      "communicators that train.",
      "moe-bench");
  const auto offered = microbench::benchmarks();
  microbench::declare(app, arguments, offered);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return db::flushed(app.exit(error) == 0 ? 0 : 2);
  }
  moe::choose_waiting(arguments.ranks, arguments.threads, argv);
  int rank = 0, code = 0;
  try {
    const auto request = microbench::read_request(arguments, offered);
    moe::stop_when_asked();
    const auto world = moe::join_world(arguments.ranks, argv, arguments.time_limit_s);
    rank = world->rank;
    code = microbench::run(arguments, request, *world, argc, argv);
    // A wrong value is everybody's failure.
    std::int32_t common = code;
    world->broadcast(&common, 1, moe::DType::i32, 0, {.what = "exit code"});
    code = common;
  } catch (const db::OutputError& error) {
    if (!error.closed()) std::cerr << "moe-bench: " << error.what() << '\n';
    moe::abort_job(error.closed() ? 0 : 1);
  } catch (const moe::Stopped& stopped) {  // on all ranks together
    if (rank == 0) std::cerr << fmt::format("moe-bench: {}\n", stopped.what());
    code = moe::exit_code(stopped);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("moe-bench: rank {}: {}\n", rank, error.what());
    moe::abort_job(moe::stop_signal() != 0 ? 128 + moe::stop_signal() : moe::exit_code(error));
  }
  moe::finalize_mpi();
  return db::flushed(code);
}
