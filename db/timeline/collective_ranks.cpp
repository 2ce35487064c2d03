#include "db/timeline/collective_ranks.h"

#include <sstream>

#include "db/statement.h"

namespace db {

std::string layout_of(const Connection& connection, const TimelineInfo& timeline) {
  Statement statement(connection,
                      "SELECT coalesce((SELECT nullif(layout, '') FROM run WHERE id = ?1), "
                      "(SELECT study.layout FROM trial JOIN study ON study.id = trial.study_id "
                      "WHERE trial.id = ?2), '')");
  statement.bind(timeline.run_id, timeline.trial_id);
  return statement.step() ? statement.value<std::string>(0) : "";
}

bool divides_once(const std::string& layout) {
  int divided = 0;
  std::istringstream degrees(layout);
  for (std::string degree; std::getline(degrees, degree, ',');) {
    if (!degree.ends_with("=1")) ++divided;
  }
  return !layout.empty() && divided <= 1;
}

bool all_ranks_together(const Connection& connection, const TimelineInfo& timeline) {
  if (!divides_once(layout_of(connection, timeline))) return false;
  // Of a prediction's trial, where one of its repeats ran.
  Statement statement(connection,
                      "SELECT count(*), count(DISTINCT node) FROM run_rank WHERE run_id = "
                      "coalesce(?1, (SELECT max(run_id) FROM trial_repeat WHERE trial_id = ?2))");
  statement.bind(timeline.run_id, timeline.trial_id);
  if (!statement.step()) return false;
  const auto ranks = statement.value<std::int64_t>(0), nodes = statement.value<std::int64_t>(1);
  return nodes <= 1 || nodes == ranks;
}

}  // namespace db
