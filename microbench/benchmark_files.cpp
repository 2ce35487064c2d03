#include "microbench/benchmark_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "moe/input/read_file.h"
#include "moe/train/checkpoint/checksum.h"

namespace microbench {
namespace {

std::string path_of_file(const Benchmark& benchmark) {
  return benchmark.file.path ? benchmark.file.path() : "";
}

}  // namespace

std::string read_benchmark_files(std::string_view what, const std::vector<Benchmark>& offered) {
  nlohmann::json texts = nlohmann::json::object();
  for (const Benchmark& benchmark : offered) {
    const std::string path = path_of_file(benchmark);
    if (path.empty() || !is_chosen(benchmark, what)) continue;
    texts[benchmark.name] = moe::read_file(path);
  }
  // Bytes that are no text are refused by whoever parses them.
  return texts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of_file(const std::string& read, const Benchmark& benchmark) {
  return nlohmann::json::parse(read).value(benchmark.name, "");
}

std::vector<moe::InputFact> facts_of_file(const Benchmark& benchmark, const std::string& text) {
  const std::string path = path_of_file(benchmark);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return {};
  return {{fmt::format("{} {}", benchmark.file.option, path),
           moe::checksum_of_text(moe::read_file(path)), moe::checksum_of_text(text)}};
}

}  // namespace microbench
