#include "db/measurement_samples.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "db/insert_sql.h"
#include "db/load.h"
#include "db/statement.h"
#include "db/transaction.h"

namespace db {
namespace {

std::vector<double> read_quantiles(const Connection& connection, const MeasurementSamples& row) {
  const auto json = nlohmann::json::parse(row.quantiles_json, nullptr, false);
  std::vector<double> quantiles;
  for (const auto& each : json) {
    if (!json.is_array() || !each.is_number()) {
      refuse_value(connection.path(), Table<MeasurementSamples>::name, "quantiles_json",
                   row.quantiles_json.substr(0, 60), "a list of seconds",
                   fmt::format("measurement_id = {}", row.measurement_id));
    }
    quantiles.push_back(each.get<double>());
  }
  return quantiles;
}

}  // namespace

void insert(Connection& connection, const std::vector<SampledMeasurement>& rows) {
  if (rows.empty()) return;
  Transaction transaction(connection, fmt::format("store {} measurements", rows.size()));
  Statement measurement(connection, insert_sql<Measurement>());
  Statement samples(connection, insert_sql<MeasurementSamples>());
  Statement rank(connection, insert_sql<MeasurementRank>());
  for (const SampledMeasurement& row : rows) {
    measurement.bind_record(row.measurement).run();
    const std::int64_t id = sqlite3_last_insert_rowid(connection.handle());
    if (!row.quantiles.empty()) {
      samples.bind_record(MeasurementSamples{id, row.p95_s, nlohmann::json(row.quantiles).dump()})
          .run();
    }
    for (MeasurementRank of : row.ranks) {
      of.measurement_id = id;
      rank.bind_record(of).run();
    }
  }
  transaction.commit();
}

std::vector<SampledMeasurement> load_sampled_measurements(const Connection& connection,
                                                          std::int64_t run_id) {
  std::vector<SampledMeasurement> rows;
  for (Measurement& each : load_measurements(connection, {.run_id = run_id})) {
    rows.push_back({std::move(each)});
    const auto samples = select<MeasurementSamples>(connection, "WHERE measurement_id = ?",
                                                    rows.back().measurement.id);
    if (samples.empty()) continue;
    rows.back().p95_s = samples.front().p95_s;
    rows.back().quantiles = read_quantiles(connection, samples.front());
  }
  return rows;
}

std::vector<MeasurementRank> load_measurement_ranks(const Connection& connection,
                                                    std::int64_t measurement_id) {
  return select<MeasurementRank>(connection, "WHERE measurement_id = ? ORDER BY rank",
                                 measurement_id);
}

}  // namespace db
