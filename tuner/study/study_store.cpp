#include "tuner/study/study_store.h"

#include <signal.h>
#include <unistd.h>

#include "db/load.h"
#include "db/statement.h"
#include "db/store.h"
#include "db/transaction.h"

namespace tuner {
namespace {

db::RunFilter running(const std::string& study) { return {"study", study, "running", 0}; }

bool alive(std::int64_t pid) {
  return pid > 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

}  // namespace

void update_study(db::Connection& connection, const db::Study& study) {
  db::Transaction transaction(connection, "update a study");
  db::Statement(connection,
                "UPDATE study SET profile_runs_json = ?1, cost_model_json = ?2, cluster_json = ?3 "
                "WHERE id = ?4")
      .bind(study.profile_runs_json, study.cost_model_json, study.cluster_json, study.id)
      .run();
  transaction.commit();
}

void link_timelines(db::Connection& connection, std::int64_t run_id, std::int64_t trial_id) {
  db::Transaction transaction(connection, "link timelines to a trial");
  db::Statement(connection,
                "UPDATE timeline SET trial_id = ?1 WHERE run_id = ?2 AND kind = 'measured'")
      .bind(trial_id, run_id)
      .run();
  transaction.commit();
}

std::optional<std::int64_t> process_running(const db::Connection& connection,
                                            const std::string& study, const std::string& hostname) {
  for (const db::Run& run : db::load_runs(connection, running(study))) {
    const bool here = db::load_machine(connection, run.machine_id).hostname == hostname;
    if (here && run.pid != getpid() && alive(run.pid)) return run.pid;
  }
  return std::nullopt;
}

void bury_runs(db::Connection& connection, const std::string& study, const std::string& hostname) {
  for (const db::Run& run : db::load_runs(connection, {"", "", "running", 0})) {
    if (run.pid == getpid()) continue;
    const bool earlier = run.kind == "study" && run.name == study;
    const bool gone =
        db::load_machine(connection, run.machine_id).hostname == hostname && !alive(run.pid);
    if (earlier || gone) db::mark_run_killed(connection, run.id);
  }
}

}  // namespace tuner
