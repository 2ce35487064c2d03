#pragma once

#include <string>
#include <vector>

#include "microbench/arguments.h"
#include "microbench/benchmarks.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/same_inputs.h"

namespace microbench {

/// A benchmark that was asked for, with the sizes that it sweeps.
struct Chosen {
  Benchmark benchmark;
  CommonOptions common;
};

/// The request of the command line, made before any rank is started, and on every rank.
struct Request {
  moe::DType dtype = moe::DType::f32;
  std::vector<Chosen> chosen;
  bool everything = false;  ///< all benchmarks were asked for
};

/// `read`: what read_benchmark_files() has read. Throws moe::InputError, db::Error.
Request read_request(const Arguments& arguments, const std::vector<Benchmark>& offered,
                     const std::string& read);

/// What ranks have to have alike besides the command line: the files that it names.
std::vector<moe::InputFact> facts_of(const Request& request);

/// Measures on one rank of `world`, prints and stores on rank 0. Returns the exit code, the same on
/// every rank.
int measure(const Arguments& arguments, const Request& request, moe::Communicator& world, int argc,
            char** argv);

/// Compares two stored runs and prints it: the exit code. Throws moe::InputError, db::Error.
int compare_stored(const Arguments& arguments);

}  // namespace microbench
