#include "db/liveness.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "db/load.h"
#include "db/statement.h"
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

StudyOwner owner_of(const Connection& connection, const Run& run) {
  return {.run_id = run.id,
          .pid = run.pid,
          .hostname = load_machine(connection, run.machine_id).hostname,
          .heartbeat_at = run.heartbeat_at};
}

}  // namespace

bool still_runs(const Run& run) {
  if (run.pid <= 0) return false;
  if (kill(static_cast<pid_t>(run.pid), 0) != 0 && errno != EPERM) return false;
  const std::string found = command_line_json(run.pid);
  return found.empty() || found == run.argv_json;
}

std::vector<StudyOwner> owners_of_study(const Connection& connection, const std::string& study,
                                        const std::string& hostname) {
  std::vector<StudyOwner> owners;
  for (const Run& run : load_runs(connection, {"study", study, "running", 0})) {
    const bool is_here = ran_on(connection, run, hostname);
    if (is_here && (run.pid == getpid() || !still_runs(run))) continue;
    owners.push_back(owner_of(connection, run));
    owners.back().is_here = is_here;
  }
  return owners;
}

std::optional<StudyOwner> later_owner_of_study(const Connection& connection,
                                               const std::string& study, std::int64_t run_id) {
  Statement statement(connection,
                      "SELECT id FROM run WHERE id > ? AND kind = 'study' AND name = ? LIMIT 1");
  statement.bind(run_id, study);
  if (!statement.step()) return std::nullopt;
  return owner_of(connection, load_run(connection, statement.value<std::int64_t>(0)));
}

int bury_runs(Connection& connection, const std::string& study, const std::string& hostname) {
  int buried = 0;
  for (const Run& run : load_runs(connection, {"", "", "running", 0})) {
    const bool is_here = ran_on(connection, run, hostname);
    if (is_here && run.pid == getpid()) continue;
    const bool earlier = run.kind == "study" && run.name == study;
    if (!earlier && (!is_here || still_runs(run))) continue;
    mark_run_killed(connection, run.id);
    ++buried;
  }
  return buried;
}

}  // namespace db
