/// Feeds mutated files to the loaders. What they throw must say what is wrong; a crash, a hang, an
/// exception of another kind or memory beyond the limit is a failure: its input is written to a
/// file, and its seed says how to see it again.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>

#include "moe/errors.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"

namespace fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMostSeconds = 10;  // of one input; sanitizers and busy machines included
constexpr rlim_t kMostBytes = rlim_t{1} << 30;  // beyond what the program has when it starts
constexpr std::size_t kMostMessage = 1000;

/// What the worker leaves when it dies.
struct Progress {
  std::atomic<std::uint64_t> seed;
  std::atomic<std::uint64_t> loaded;
  std::atomic<std::uint64_t> refused;
  char failure[256];
};

struct Input {
  const Target* target;
  std::string text;
};

/// The same for the same seed, whatever came before it.
Input input_of(const std::vector<Target>& targets, std::uint64_t seed) {
  Random random(seed);
  const Target& target = targets[seed % targets.size()];
  return {&target, mutant(target.samples, random)};
}

bool is_readable(std::string_view message) {
  return !message.empty() && message.size() <= kMostMessage &&
         std::none_of(message.begin(), message.end(),
                      [](unsigned char c) { return c < ' ' && c != '\n'; });
}

void load(const Input& input, const std::filesystem::path& folder, Progress& progress) {
  const auto refused = [&](const std::exception& error) {
    if (!is_readable(error.what())) {
      throw std::runtime_error(fmt::format("a message of {} bytes or with control characters: {}",
                                           std::strlen(error.what()), error.what()));
    }
    ++progress.refused;
  };
  try {
    input.target->load(input.text, folder);
    ++progress.loaded;
  } catch (const moe::InputError& error) {
    refused(error);
  } catch (const moe::Refusal& error) {
    refused(error);
  }
}

/// Address sanitizer reserves terabytes: no limit on addresses can be set beside it.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGE_SIZE)) + kMostBytes;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

[[noreturn]] void work(const std::vector<Target>& targets, std::uint64_t seed, std::uint64_t step,
                       Clock::time_point end, const std::filesystem::path& folder,
                       Progress& progress) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory();
  do {
    progress.seed = seed;
    alarm(kMostSeconds);
    try {
      load(input_of(targets, seed), folder, progress);
    } catch (const std::exception& error) {
      const std::string text = fmt::format("{}: {}", typeid(error).name(), error.what());
      text.copy(progress.failure, sizeof(progress.failure) - 1);
      _exit(1);
    }
    seed += step;
  } while (step > 0 && Clock::now() < end);
  _exit(0);
}

std::string how_it_ended(int status, const Progress& progress) {
  if (!WIFSIGNALED(status)) return progress.failure;
  if (WTERMSIG(status) == SIGALRM) return fmt::format("took more than {} s", kMostSeconds);
  return strsignal(WTERMSIG(status));
}

int run(std::uint64_t seed, double seconds, bool only, const std::filesystem::path& results) {
  const std::vector<Target> all = targets();
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  Progress& progress = *new (shared) Progress{};
  std::string pattern = (std::filesystem::temp_directory_path() / "moelab-fuzz-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");

  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  int failures = 0;
  do {
    const pid_t worker = fork();
    if (worker == 0) work(all, seed, only ? 0 : 1, end, pattern, progress);
    int status = 0;
    waitpid(worker, &status, 0);
    seed = progress.seed + 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    const Input input = input_of(all, progress.seed);
    const auto path =
        results / fmt::format("fuzz-{}-{}", progress.seed.load(), input.target->file_name);
    std::ofstream(path, std::ios::binary) << input.text;
    fmt::print("{} --only {}: {}\n  {}\n", input.target->name, progress.seed.load(),
               how_it_ended(status, progress), path.string());
    std::memset(progress.failure, 0, sizeof(progress.failure));
    ++failures;
  } while (!only && failures < 20 && Clock::now() < end);

  std::filesystem::remove_all(pattern);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const std::uint64_t inputs = progress.loaded + progress.refused + failures;
  fmt::print("{} inputs in {:.1f} s, {:.0f} a second: {} loaded, {} refused, {} failures\n", inputs,
             took, static_cast<double>(inputs) / took, progress.loaded.load(),
             progress.refused.load(), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  CLI::App app("Feeds mutated model, cluster, schedule and routing files to their loaders.");
  double seconds = 30;
  std::uint64_t seed = 1;
  std::int64_t only = -1;
  std::string results = ".";
  app.add_option("--seconds", seconds, "how long")->capture_default_str();
  app.add_option("--seed", seed, "of the first input; the next has the next")
      ->capture_default_str();
  app.add_option("--only", only, "the one input of this seed");
  app.add_option("--results", results, "folder for inputs that fail")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return fuzz::run(only >= 0 ? static_cast<std::uint64_t>(only) : seed, seconds, only >= 0,
                   results);
}
