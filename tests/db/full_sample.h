#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

#include "db/measurement_samples.h"
#include "tests/db/sample.h"

namespace db {

/// Two tensors on each of two ranks: one that lives over iterations, one from op 0 to op 1.
inline TimelineMemory sample_memory() {
  TimelineMemory memory{
      {{0, 0, "weights", "parameter", "device"}, {0, 1, "sent", "activation", "device"}}, {}};
  for (int rank = 0; rank < 2; ++rank) {
    memory.allocations.push_back({0, rank, 0, 0, 100});
    memory.allocations.push_back({0, rank, 1, 100, 40, 0, 1, 0.0, 0.005});
  }
  return memory;
}

/// Stores a measured timeline of the run with everything that is known of one.
inline std::int64_t store_full_timeline(Connection& connection, std::int64_t run, int iteration) {
  TimelineInfo timeline;
  timeline.run_id = run;
  timeline.kind = "measured";
  timeline.iteration = iteration;
  const std::vector<OpEdge> edges = {{0, 1, 0}, {0, 2, 1}};
  const std::vector<RankGroup> groups = {{0, "expert", 0, 0}, {0, "expert", 1, 0}};
  return insert(connection, timeline, sample_ops(), sample_spans(), edges, groups, sample_memory());
}

/// The sample, and what it leaves out: a row at least in every table.
inline Sample store_full_sample(Connection& connection) {
  const Sample sample = store_sample(connection);
  store_full_timeline(connection, sample.run, 3);
  PredictionQuality quality;
  quality.study_id = sample.study;
  insert(connection, quality);
  connection.database().exec(
      "INSERT INTO predicted_setup VALUES (1, '', 2, 1, 'ep=2', 1, 'rank', 'sequential', 'joint', "
      "1, "
      "0, 0, 0, 0.5, 2000, 0.25, 10, 10, 20, 5, 1, 46, 64, 0.4, 'rank 0 compute');"
      "INSERT INTO study_costs VALUES (1, 0, '{}');"
      "INSERT INTO measurement_samples VALUES (1, 0.09, '[0.07, 0.09]');"
      "INSERT INTO measurement_rank VALUES (1, 0, 0.06, 0.05, 0.07), (1, 1, 0.07, 0.06, 0.09);"
      "INSERT INTO run_link VALUES (1, 0, 1, 40, 4096, 0.002, 2e6, 0.1);"
      "INSERT INTO run_product VALUES (1, 'cuBLAS', 'f32 NN 2 x 3 x 4 in f32', '', 1e-6, 1e-6);"
      "INSERT INTO rank_load VALUES (1, 0, 1, 0, 5, NULL, NULL);"
      "INSERT INTO expert_place VALUES (1, 0, 1, 0, 3, 1)");
  return sample;
}

/// The tables of a database, and how many rows each has.
inline std::vector<std::pair<std::string, int>> rows_by_table(const Connection& connection) {
  std::vector<std::pair<std::string, int>> rows;
  SQLite::Statement names(connection.database(),
                          "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name");
  while (names.executeStep()) {
    const std::string name = names.getColumn(0);
    rows.emplace_back(name,
                      connection.database().execAndGet("SELECT count(*) FROM " + name).getInt());
  }
  return rows;
}

}  // namespace db
