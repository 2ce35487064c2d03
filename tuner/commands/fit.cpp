#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/run/machine.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/since.h"
#include "tuner/costs/fit_measurements.h"
#include "tuner/costs/fit_records.h"
#include "tuner/scenario/measured_place.h"

namespace tuner {
namespace {

/// The measurements that were asked for, and what their runs measured on.
struct Asked {
  std::vector<db::Measurement> measurements;
  std::map<std::int64_t, MeasuredOn> measured_on;       ///< by run
  std::map<std::int64_t, std::string> name_of_machine;  ///< its hostname, by machine
  std::set<std::string> builds;                         ///< that measured them
};

std::optional<double> asked_since(const Arguments& arguments) {
  if (arguments.since.empty()) return std::nullopt;
  if (const auto since = parse_since(arguments.since, db::now())) return since;
  throw moe::InputError(fmt::format(
      "--since {}: expected a day as 2026-11-23, an instant as \"2026-11-23 06:10\", or an age as "
      "30m, 12h or 7d",
      arguments.since));
}

Asked asked_measurements(const db::Connection& connection, const Arguments& arguments) {
  const auto since = asked_since(arguments);
  for (const std::int64_t run : arguments.runs) db::load_run(connection, run);  // throws not_found
  Asked asked{db::load_measurements(connection), {}, {}, {}};
  if (asked.measurements.empty()) {
    throw moe::InputError(fmt::format("{}: no measurements: make some with moe-bench all --db {}",
                                      connection.path(), connection.path()));
  }
  const std::set<std::int64_t> runs(arguments.runs.begin(), arguments.runs.end());
  std::map<std::int64_t, bool> wanted;  // by run
  for (const db::Measurement& row : asked.measurements) {
    const auto [known, is_new] = wanted.try_emplace(row.run_id, false);
    if (!is_new || (!runs.empty() && !runs.contains(row.run_id))) continue;
    const db::Run run = db::load_run(connection, row.run_id);
    if (since && run.started_at < *since) continue;
    known->second = true;
    const MeasuredPlace place = place_of_run(connection, run.id);
    asked.measured_on[run.id] = {run.machine_id, place.network, place.nodes};
    asked.name_of_machine[run.machine_id] = place.host;
    if (!place.revision.empty()) asked.builds.insert(place.revision);
  }
  std::erase_if(asked.measurements, [&](const auto& row) { return !wanted.at(row.run_id); });
  return asked;
}

void print_fits(const std::vector<db::Fit>& fits, const Asked& asked, db::Style style) {
  db::RowWriter writer(
      stdout, style,
      {"op", "device", "ranks", "link", "alpha_s", "beta_s_per_unit", "unit", "r2", "samples",
       "max_relative_residual", "alpha_error_s", "beta_error_s_per_unit", "outliers", "verdict",
       "machine", "network", "nodes"});
  for (const db::Fit& row : fits) {
    const LinearFit line = from_record(row);
    writer.row(
        {row.op, row.device, std::int64_t{row.ranks}, row.link, row.alpha_s, row.beta_s_per_unit,
         row.unit, db::optional_cell(line.r2), std::int64_t{row.samples}, row.max_relative_residual,
         db::optional_cell(row.alpha_error_s), db::optional_cell(row.beta_error_s_per_unit),
         std::int64_t{row.outliers}, row.verdict, asked.name_of_machine.at(row.machine_id.value()),
         row.network, row.nodes > 0 ? db::Cell(std::int64_t{row.nodes}) : db::Cell()});
  }
  writer.finish();
}

/// What the fits say of these sizes, in the bytes of the benchmark, beside what it measured there: the
/// median of several runs.
void print_at(const std::vector<MeasuredFit>& fits, const std::vector<std::int64_t>& sizes,
              const Asked& asked, db::Style style) {
  db::RowWriter writer(stdout, style,
                       {"op", "device", "ranks", "link", "bytes", "predicted_s", "measured_s",
                        "relative_error", "machine", "network", "nodes"});
  for (const MeasuredFit& one : fits) {
    if (!(one.units_per_byte > 0)) continue;
    for (const std::int64_t bytes : sizes) {
      const double units = one.units_per_byte * static_cast<double>(bytes);
      const double predicted_s = seconds_of(one.fit, 1, units);
      std::vector<double> measured_s;
      for (const Sample& sample : one.samples) {
        if (std::abs(sample.units - units) < 0.5 * one.units_per_byte) {
          measured_s.push_back(sample.seconds);
        }
      }
      db::Cell measured, error;
      if (!measured_s.empty()) {
        const double median_s = db::median(measured_s);
        measured = median_s;
        error = predicted_s / median_s - 1;
      }
      const db::Fit& row = one.record;
      writer.row({row.op, row.device, std::int64_t{row.ranks}, row.link, bytes, predicted_s,
                  measured, error, asked.name_of_machine.at(row.machine_id.value()), row.network,
                  row.nodes > 0 ? db::Cell(std::int64_t{row.nodes}) : db::Cell()});
    }
  }
  writer.finish();
}

/// Doubtful fits are counted on stderr too, for those who read no tables.
void warn(const std::vector<MeasuredFit>& fits) {
  const auto doubtful =
      std::ranges::count_if(fits, [](const MeasuredFit& one) { return is_doubtful(one.fit); });
  if (doubtful == 0) return;
  spdlog::warn("{} of {} fits are doubtful: the column verdict says why", doubtful, fits.size());
}

/// Fits do not keep builds apart: kernels of most builds are the same.
void warn_of_builds(const std::set<std::string>& builds, const std::string& this_build) {
  std::set<std::string> others = builds;
  others.erase(this_build);
  if (others.empty()) return;
  spdlog::warn("measured with build {}, this is build {}: --run and --since choose what is fitted",
               fmt::join(others, " and "), this_build);
}

}  // namespace

int fit(const Arguments& arguments, int argc, char** argv) {
  std::vector<std::int64_t> sizes;  // refused before anything is stored
  if (!arguments.at.empty()) sizes = moe::parse_sizes(arguments.at);
  const std::string& path = arguments.scenario.database;
  db::Connection connection = db::open_writer(path, {.create = false});
  const Asked asked = asked_measurements(connection, arguments);
  const std::vector<MeasuredFit> measured = fit_measurements(asked.measurements, asked.measured_on);
  std::vector<db::Fit> fits;
  for (const MeasuredFit& one : measured) fits.push_back(one.record);
  if (fits.empty()) {
    throw moe::InputError(fmt::format(
        "{}: --run and --since leave no measurement that makes a fit: moe-db runs --db {} --kind "
        "bench lists the runs that measured",
        path, path));
  }
  db::Transaction transaction(connection, "store fits");
  db::Run run = db::this_run("fit", "fit", argc, argv);
  warn_of_builds(asked.builds, run.revision);
  const std::int64_t run_id = db::begin_run(connection, std::move(run), moe::this_machine());
  for (db::Fit& row : fits) row.run_id = run_id;
  db::insert(connection, fits);
  db::finish_run(connection, run_id, "done");
  transaction.commit();

  if (sizes.empty()) {
    print_fits(fits, asked, style_of(arguments));
  } else {
    print_at(measured, sizes, asked, style_of(arguments));
  }
  warn(measured);
  return 0;
}

}  // namespace tuner
