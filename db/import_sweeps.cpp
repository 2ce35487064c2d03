#include "db/import_sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

Machine machine_of(const ImportedSweep& sweep) {
  Machine machine;
  machine.hostname = sweep.machine;
  // The name is a part of what it is: of the same GPUs there are many machines.
  machine.cpu = fmt::format("known by a log of {} alone", sweep.machine);
  machine.gpu = sweep.gpu;
  machine.gpu_count = static_cast<int>(std::ranges::count(sweep.hosts, sweep.hosts.front()));
  machine.libraries_json = "{}";
  machine.fingerprint = content_hash(
      fmt::format("{}\n{}\n{}\n{}", machine.cpu, machine.hostname, machine.gpu, machine.gpu_count));
  return machine;
}

/// What is equal for the same figures.
using FigureOfRow = std::tuple<std::string, std::string, std::string, std::int64_t, double>;

std::vector<FigureOfRow> figures_of(const std::vector<Measurement>& rows) {
  std::vector<FigureOfRow> figures;
  for (const Measurement& row : rows) {
    figures.emplace_back(row.op, row.device, row.dtype, row.bytes, row.time_s);
  }
  std::ranges::sort(figures);
  return figures;
}

/// Which earlier run has these figures, and which are of the same collective on as many ranks.
StoredSweeps::Sweep find_earlier(const Connection& connection, const ImportedSweep& sweep,
                                 const std::string& fingerprint) {
  StoredSweeps::Sweep found;
  const std::set<std::string> nodes(sweep.hosts.begin(), sweep.hosts.end());
  for (const Run& run : load_runs(connection)) {
    if (run.kind != "bench" || run.ranks != static_cast<int>(sweep.hosts.size()) ||
        run.network != sweep.network ||
        load_machine(connection, run.machine_id).fingerprint != fingerprint) {
      continue;
    }
    std::set<int> earlier_nodes;
    for (const RunRank& rank : load_run_ranks(connection, run.id)) earlier_nodes.insert(rank.node);
    const auto rows =
        load_measurements(connection, {.run_id = run.id, .op = sweep.rows.front().op});
    if (earlier_nodes.size() != nodes.size() || rows.empty()) continue;
    if (figures_of(rows) == figures_of(sweep.rows)) return {run.id, true, {}};
    found.beside.push_back(run.id);
  }
  return found;
}

std::int64_t store_sweep(Connection& connection, Run run, const ImportedSweep& sweep,
                         const Machine& machine) {
  run.device = sweep.rows.front().device;
  run.ranks = static_cast<int>(sweep.hosts.size());
  run.revision.clear();  // of another program
  run.network = sweep.network;
  const std::int64_t id = begin_run(connection, std::move(run), machine);
  std::vector<RunRank> ranks;
  std::map<std::string, int> nodes;
  for (const std::string& host : sweep.hosts) {
    RunRank& rank = ranks.emplace_back();
    rank.run_id = id;
    rank.rank = static_cast<int>(ranks.size()) - 1;
    rank.hostname = host;
    rank.node = nodes.try_emplace(host, static_cast<int>(nodes.size())).first->second;
  }
  insert(connection, ranks);
  std::vector<Measurement> rows = sweep.rows;
  for (Measurement& row : rows) row.run_id = id;
  insert(connection, rows);
  finish_run(connection, id, "done");
  return id;
}

}  // namespace

StoredSweeps store_sweeps(Connection& connection, const Run& run, const ImportedSweeps& imported) {
  StoredSweeps stored;
  Transaction transaction(connection, "store measurements of another program");
  for (const ImportedSweep& sweep : imported.sweeps) {
    const Machine machine = machine_of(sweep);
    StoredSweeps::Sweep& one =
        stored.sweeps.emplace_back(find_earlier(connection, sweep, machine.fingerprint));
    if (!one.is_known) one.run_id = store_sweep(connection, run, sweep, machine);
  }
  transaction.commit();
  return stored;
}

}  // namespace db
