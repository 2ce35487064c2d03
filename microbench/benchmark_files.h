#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "microbench/benchmarks.h"
#include "moe/communicator/same_inputs.h"

/// The files that options of benchmarks name. One process reads them for all ranks
/// (moe/communicator/run_job.h).
namespace microbench {

/// The files of the benchmarks that `what` chooses, as text. Throws moe::InputError.
std::string read_benchmark_files(std::string_view what, const std::vector<Benchmark>& offered);

/// That of one benchmark in what read_benchmark_files() has read; "" where it has none.
std::string text_of_file(const std::string& read, const Benchmark& benchmark);

/// What a file of this benchmark says that this process finds by its name, beside `text`, which all
/// ranks work with; none where it finds none.
std::vector<moe::InputFact> facts_of_file(const Benchmark& benchmark, const std::string& text);

}  // namespace microbench
