#include <fmt/format.h>

#include <map>
#include <set>

#include "db/console/format_rows.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/run/machine.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/costs/fit_measurements.h"

namespace tuner {

int fit(const Arguments& arguments, int argc, char** argv) {
  const std::string& path = arguments.scenario.database;
  db::Connection connection = db::open_writer(path, {.create = false});
  const auto measurements = db::load_measurements(connection);
  std::map<std::int64_t, int> nodes;
  for (const db::Measurement& row : measurements) {
    if (nodes.contains(row.run_id)) continue;
    std::set<int> seen;
    for (const db::RunRank& rank : db::load_run_ranks(connection, row.run_id)) {
      seen.insert(rank.node);
    }
    nodes[row.run_id] = static_cast<int>(seen.size());
  }
  auto fits = fit_measurements(measurements, nodes);
  if (fits.empty()) {
    throw moe::InputError(
        fmt::format("{}: no measurements: make some with moe-bench all --db {}", path, path));
  }
  db::Transaction transaction(connection, "store fits");
  db::Run run = db::this_run("fit", "fit", argc, argv);
  const std::int64_t run_id = db::begin_run(connection, std::move(run), moe::this_machine());
  for (db::Fit& row : fits) row.run_id = run_id;
  db::insert(connection, fits);
  db::finish_run(connection, run_id, "done");
  transaction.commit();

  db::RowWriter writer(stdout, style_of(arguments),
                       {"op", "device", "ranks", "link", "alpha_s", "beta_s_per_unit", "unit", "r2",
                        "samples", "max_relative_residual"});
  for (const db::Fit& row : fits) {
    writer.row({row.op, row.device, std::int64_t{row.ranks}, row.link, row.alpha_s,
                row.beta_s_per_unit, row.unit, row.r2, std::int64_t{row.samples},
                row.max_relative_residual});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
