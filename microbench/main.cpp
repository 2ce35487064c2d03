#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "db/console/run_program.h"
#include "microbench/benchmark_files.h"
#include "microbench/measure.h"
#include "moe/communicator/mpi_job.h"
#include "moe/communicator/option_facts.h"
#include "moe/communicator/run_job.h"
#include "moe/errors.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Measures GEMMs, collectives, copies, how they slow each other down, and which node or link "
      "is slow, with the kernels and communicators that train. Compares runs.",
      "moe-bench");
  microbench::Arguments arguments;
  const auto offered = microbench::benchmarks();
  microbench::declare(app, arguments, offered);
  const auto work = [&] {
    arguments.google_options = app.remaining();
    if (arguments.what == microbench::kCompare) return microbench::compare_stored(arguments);
    // Google Benchmark measures one rank.
    if (arguments.google_options.empty()) {
      arguments.ranks = moe::ranks_of(arguments.ranks, arguments.launcher.hostfile,
                                      arguments.in_process, arguments.device);
    }
    microbench::Request request;
    moe::JobInputs inputs;
    inputs.given = moe::facts_of_command_line("moe-bench", app,
                                              {.freely = {"--threads"}, .in_value = {"--db"}});
    inputs.read = [&] { return microbench::read_benchmark_files(arguments.what, offered); };
    inputs.take = [&](const std::string& read, int) {
      request = microbench::read_request(arguments, offered, read);
      return microbench::facts_of(request);
    };
    moe::Job job{arguments.ranks, arguments.time_limit_s, arguments.launcher};
    job.in_process = arguments.in_process;
    return moe::run_job(job, argv, inputs, [&](moe::Communicator& world) {
      return microbench::measure(arguments, request, world, argc, argv);
    });
  };
  return db::run_program(app, argc, argv, work, moe::exit_code);
}
