#include "db/liveness.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "db/load.h"
#include "db/store.h"

namespace db {
namespace {

/// As Run::argv_json holds it; "" where /proc does not tell.
std::string command_line_json(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  if (!file) return "";
  std::vector<std::string> argv;
  for (std::string word; std::getline(file, word, '\0');) argv.push_back(word);
  return nlohmann::json(argv).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool ran_on(const Connection& connection, const Run& run, const std::string& hostname) {
  return load_machine(connection, run.machine_id).hostname == hostname;
}

}  // namespace

bool still_runs(const Run& run) {
  if (run.pid <= 0) return false;
  if (kill(static_cast<pid_t>(run.pid), 0) != 0 && errno != EPERM) return false;
  const std::string found = command_line_json(run.pid);
  return found.empty() || found == run.argv_json;
}

std::optional<std::int64_t> process_of_study(const Connection& connection, const std::string& study,
                                             const std::string& hostname) {
  for (const Run& run : load_runs(connection, {"study", study, "running", 0})) {
    if (run.pid != getpid() && ran_on(connection, run, hostname) && still_runs(run)) return run.pid;
  }
  return std::nullopt;
}

int bury_runs(Connection& connection, const std::string& study, const std::string& hostname) {
  int buried = 0;
  for (const Run& run : load_runs(connection, {"", "", "running", 0})) {
    if (run.pid == getpid()) continue;
    const bool earlier = run.kind == "study" && run.name == study;
    if (!earlier && (!ran_on(connection, run, hostname) || still_runs(run))) continue;
    mark_run_killed(connection, run.id);
    ++buried;
  }
  return buried;
}

}  // namespace db
