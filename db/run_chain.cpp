#include "db/run_chain.h"

#include <fmt/format.h>

#include <set>

#include "db/load.h"
#include "db/statement.h"

namespace db {

std::optional<std::int64_t> find_run(const Connection& connection, const RunIdentity& identity) {
  Statement statement(connection,
                      "SELECT max(run.id) FROM run JOIN machine ON machine.id = run.machine_id "
                      "WHERE run.started_at = ?1 AND run.pid = ?2 AND machine.hostname = ?3");
  statement.bind(identity.started_at, identity.pid, identity.hostname);
  statement.step();
  return statement.value<std::optional<std::int64_t>>(0);
}

std::string iterations_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("iteration {}", first)
                       : fmt::format("iterations {} to {}", first, last);
}

std::optional<LastStored> last_stored(const Connection& connection, std::int64_t run_id) {
  Statement statement(connection,
                      "SELECT resumes_run_id, (SELECT max(iteration) FROM iteration "
                      "WHERE run_id = run.id) FROM run WHERE id = ?");
  std::set<std::int64_t> seen;  // a spoilt database may lead in a circle
  for (std::optional<std::int64_t> id = run_id; id && seen.insert(*id).second;) {
    statement.bind(*id);
    if (!statement.step()) break;
    const auto earlier = statement.value<std::optional<std::int64_t>>(0);
    if (const auto last = statement.value<std::optional<int>>(1)) return LastStored{*id, *last};
    statement.run();
    id = earlier;
  }
  return std::nullopt;
}

std::vector<Iteration> load_iterations_before(const Connection& connection, std::int64_t run_id) {
  Statement statement(connection,
                      "SELECT resumes_run_id, (SELECT min(iteration) FROM iteration "
                      "WHERE run_id = run.id) FROM run WHERE id = ?");
  std::vector<Iteration> before;
  std::optional<int> first;     // of the runs that were looked at
  std::set<std::int64_t> seen;  // a spoilt database may lead in a circle
  for (std::optional<std::int64_t> id = run_id; id && seen.insert(*id).second;) {
    statement.bind(*id);
    if (!statement.step()) break;
    const auto earlier = statement.value<std::optional<std::int64_t>>(0);
    if (const auto own = statement.value<std::optional<int>>(1); own && (!first || *own < *first)) {
      first = own;
    }
    statement.run();
    id = earlier;
    if (!id) break;
    std::vector<Iteration> rows = load_iterations(connection, *id);
    std::erase_if(rows, [&](const Iteration& row) { return first && row.iteration >= *first; });
    before.insert(before.begin(), rows.begin(), rows.end());
  }
  return before;
}

}  // namespace db
