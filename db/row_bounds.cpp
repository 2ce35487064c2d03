#include "db/row_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "db/console/shown_text.h"
#include "db/statement.h"
#include "db/study_runs.h"

namespace db {
namespace {

bool table_is_there(const Connection& connection, const std::string& table) {
  Statement statement(connection,
                      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?");
  statement.bind(table);
  return statement.step();
}

/// A bound that the database itself has wrong is refused where its own row is read.
int within_limit(std::int64_t bound, int most) {
  return static_cast<int>(std::clamp<std::int64_t>(bound, 0, most));
}

}  // namespace

const RowBounds::Bound& RowBounds::ranks_of_run(std::int64_t run_id) {
  const auto [found, is_new] = of_run_.try_emplace(run_id, Bound{kMostRanks, ""});
  if (!is_new) return found->second;
  Statement statement(*connection_, "SELECT ranks FROM run WHERE id = ?");
  statement.bind(run_id);
  if (!statement.step()) return found->second;
  const auto ranks = statement.value<std::int64_t>(0);
  return found->second = {within_limit(ranks, kMostRanks),
                          fmt::format("run {} has {}", run_id, counted(ranks, "rank"))};
}

const RowBounds::Bound& RowBounds::ranks_of_measurement(std::int64_t measurement_id) {
  const auto [found, is_new] = of_measurement_.try_emplace(measurement_id, Bound{kMostRanks, ""});
  if (!is_new) return found->second;
  Statement statement(*connection_, "SELECT run_id FROM measurement WHERE id = ?");
  statement.bind(measurement_id);
  if (!statement.step()) return found->second;
  return found->second = ranks_of_run(statement.value<std::int64_t>(0));
}

const RowBounds::Bound& RowBounds::timeline_bound(std::int64_t timeline_id) {
  const auto [found, is_new] = of_timeline_.try_emplace(timeline_id, Bound{kMostRanks, ""});
  if (!is_new) return found->second;
  Statement statement(*connection_,
                      "SELECT coalesce((SELECT ranks FROM run WHERE id = timeline.run_id), "
                      "(SELECT ranks FROM study WHERE id = "
                      "(SELECT study_id FROM trial WHERE id = timeline.trial_id))) "
                      "FROM timeline WHERE id = ?");
  statement.bind(timeline_id);
  if (!statement.step()) return found->second;
  const auto ranks = statement.value<std::optional<std::int64_t>>(0);
  if (!ranks) return found->second;
  return found->second = {within_limit(*ranks, kMostRanks), "it is of " + counted(*ranks, "rank")};
}

const RowBounds::Bound& RowBounds::experts_of(std::int64_t run_id, int iteration, int layer) {
  const std::tuple wanted(run_id, iteration, layer);
  if (wanted == last_layer_) return of_last_layer_;
  last_layer_ = wanted;
  of_last_layer_ = {kMostExperts, ""};
  if (!table_is_there(*connection_, Table<Balance>::name)) return of_last_layer_;
  Statement statement(*connection_,
                      "SELECT experts FROM balance "
                      "WHERE run_id = ? AND iteration = ? AND layer = ?");
  statement.bind(run_id, iteration, layer);
  if (!statement.step()) return of_last_layer_;
  const auto experts = statement.value<std::int64_t>(0);
  return of_last_layer_ = {
             within_limit(experts, kMostExperts),
             fmt::format("layer {} has {} experts in iteration {}", layer, experts, iteration)};
}

void RowBounds::expect_below(const Bound& bound, const char* table, const char* column,
                             std::int64_t number, const char* key, std::int64_t of) const {
  if (number < bound.below) return;
  refuse_number(connection_->path(), table, column, number,
                {0, std::max(0.0, static_cast<double>(bound.below) - 1)},
                fmt::format("{} = {}", key, of), bound.why);
}

int RowBounds::ranks_of_timeline(std::int64_t timeline_id) {
  return timeline_bound(timeline_id).below;
}

void RowBounds::check(const RunRank& row) {
  const Bound& ranks = ranks_of_run(row.run_id);
  expect_below(ranks, "run_rank", "rank", row.rank, "run_id", row.run_id);
  expect_below(ranks, "run_rank", "node", row.node, "run_id", row.run_id);
}

void RowBounds::check(const RunLink& row) {
  const Bound& ranks = ranks_of_run(row.run_id);
  expect_below(ranks, "run_link", "from_rank", row.from_rank, "run_id", row.run_id);
  expect_below(ranks, "run_link", "to_rank", row.to_rank, "run_id", row.run_id);
}

void RowBounds::check(const MeasurementRank& row) {
  expect_below(ranks_of_measurement(row.measurement_id), "measurement_rank", "rank", row.rank,
               "measurement_id", row.measurement_id);
}

void RowBounds::check(const Load& row) {
  expect_below(ranks_of_run(row.run_id), "load", "rank", row.rank, "run_id", row.run_id);
  expect_below(experts_of(row.run_id, row.iteration, row.layer), "load", "expert", row.expert,
               "run_id", row.run_id);
}

void RowBounds::check(const RankLoad& row) {
  expect_below(ranks_of_run(row.run_id), "rank_load", "rank", row.rank, "run_id", row.run_id);
}

void RowBounds::check(const ExpertPlace& row) {
  expect_below(ranks_of_run(row.run_id), "expert_place", "rank", row.rank, "run_id", row.run_id);
  expect_below(experts_of(row.run_id, row.iteration, row.layer), "expert_place", "expert",
               row.expert, "run_id", row.run_id);
}

void RowBounds::check(const RankGroup& row) {
  const Bound& ranks = timeline_bound(row.timeline_id);
  expect_below(ranks, "rank_group", "rank", row.rank, "timeline_id", row.timeline_id);
  expect_below(ranks, "rank_group", "first_rank", row.first_rank, "timeline_id", row.timeline_id);
}

void RowBounds::check(const Allocation& row) {
  expect_below(timeline_bound(row.timeline_id), "allocation", "rank", row.rank, "timeline_id",
               row.timeline_id);
}

void RowBounds::check(const Span& row) {
  expect_below(timeline_bound(row.timeline_id), "span", "rank", row.rank, "timeline_id",
               row.timeline_id);
}

void RowBounds::check(const Balance& row) {
  expect_below({row.experts + 1, fmt::format("layer {} has {} experts", row.layer, row.experts)},
               "balance", "unused_experts", row.unused_experts, "run_id", row.run_id);
}

void RowBounds::check(const Study& row) {
  const std::string where = fmt::format("id = {}", row.id);
  if (!profile_runs(row)) {
    refuse_value(connection_->path(), "study", "profile_runs_json", row.profile_runs_json,
                 "a list of the ids of runs", where);
  }
  if (!refinement_runs(row)) {
    refuse_value(connection_->path(), "study", "refinement_runs_json", row.refinement_runs_json,
                 "a list of such lists as [1, 2]", where);
  }
}

}  // namespace db
