#include "moe/orphans.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace moe {
namespace {

constexpr std::chrono::seconds kPatience{1};

/// True for every process where no program is given, and for a process that has ended.
bool executes(pid_t pid, const std::filesystem::path& program) {
  std::error_code ended;
  const auto link = std::filesystem::path("/proc") / std::to_string(pid) / "exe";
  const auto executed = std::filesystem::read_symlink(link, ended);
  return program.empty() || ended || executed == program;
}

}  // namespace

std::set<pid_t> child_processes() {
  std::set<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end_of_name = text.rfind(')');  // "pid (name) state parent ...", any name
    if (end_of_name == std::string::npos) continue;
    std::istringstream fields(text.substr(end_of_name + 1));
    char state = 0;
    pid_t parent = 0;
    if (fields >> state >> parent && parent == getpid()) found.insert(std::stoi(name));
  }
  return found;
}

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void end_orphans(const std::set<pid_t>& others, const std::filesystem::path& program) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (bool any = true, late = false; any; late = Clock::now() - begin > kPatience) {
    any = false;
    for (const pid_t pid : child_processes()) {
      if (others.contains(pid) || !executes(pid, program)) continue;
      if (late) kill(pid, SIGKILL);
      any = waitpid(pid, nullptr, WNOHANG) == 0 || any;
    }
    // The kernel may not let go of a process.
    if (late && Clock::now() - begin > 2 * kPatience) return;
    if (any) usleep(10'000);
  }
}

}  // namespace moe
