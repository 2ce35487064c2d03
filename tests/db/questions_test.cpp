#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "db/load.h"
#include "db/query.h"
#include "tests/db/full_sample.h"

/// The statements of db/questions.md.
namespace db::questions_test {
namespace {

/// Of each heading, what stands between the lines ```sql and ``` below it.
std::vector<std::pair<std::string, std::string>> questions() {
  std::ifstream page(std::string(MOELAB_SOURCE_DIR) + "/db/questions.md");
  std::vector<std::pair<std::string, std::string>> found;
  bool in_sql = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) found.emplace_back(line.substr(3), "");
    if (line == "```") in_sql = false;
    if (in_sql) found.back().second += line + "\n";
    if (line == "```sql") in_sql = true;
  }
  return found;
}

std::string rows_of(const Connection& connection, const std::string& sql) {
  Query query(connection, sql);
  std::string text;
  while (const auto row = query.next()) {
    std::string line;
    for (const Cell& cell : *row) {
      if (!line.empty()) line += ' ';
      if (const auto* number = std::get_if<std::int64_t>(&cell)) line += fmt::to_string(*number);
      if (const auto* number = std::get_if<double>(&cell)) line += fmt::format("{:.4g}", *number);
      if (const auto* word = std::get_if<std::string>(&cell)) line += *word;
      if (cell.index() == 0) line += "-";
    }
    text += line + "\n";
  }
  return text;
}

/// Two studies of a model, one on each of two networks and commits; two ranks on hosts n0 and n1.
class Questions : public testing::Test {
 protected:
  Questions() {
    const Sample sample = store_full_sample(connection);
    Study study = load_studies(connection).at(0);
    study.model_json = R"({"name":"tiny"})";
    study.cost_model_json =
        R"({"fits":{"gemm":{"alpha_s":0.25,"beta_s_per_unit":2e-12,"unit":"flop","samples":4}}})";
    update_study(connection, study);
    connection.database().exec(
        "UPDATE study SET model_json = '{\"name\": \"tiny\"}';"
        "UPDATE run SET model_json = '{\"name\": \"tiny\"}', network = 'slow', revision = 'a',"
        "  started_at = 1000, finished_at = 1060;"
        "UPDATE run_rank SET hostname = 'n' || rank, node = rank;"
        "UPDATE trial SET started_at = 1000, predicted_peak_bytes = 90 * id;"
        "UPDATE trial SET measured_peak_bytes = 100 * id WHERE status = 'done'");
    add_later_study(sample);
    db::Run run = sample_run(sample.machine);
    run.kind = "study", run.name = "later", run.started_at = 5000;
    insert(connection, run);
    connection.database().exec("UPDATE run SET finished_at = 8600 WHERE kind = 'study'");
  }

  void add_later_study(const Sample& sample) {
    db::Run run = sample_run(sample.machine);
    run.network = "fast", run.revision = "b", run.model_json = R"({"name":"tiny"})";
    run.started_at = 2000;
    const std::int64_t id = insert(connection, run);
    run.network = "slow";
    const std::int64_t on_slow = insert(connection, run);
    std::vector<RunRank> ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
      RunRank& row = ranks[static_cast<std::size_t>(rank)];
      row.run_id = id, row.rank = rank, row.node = rank;
      row.hostname = rank == 0 ? "n0" : "n1";
    }
    insert(connection, ranks);
    store_experts(sample.run, 1e9);
    store_experts(id, 8e8);
    Study study;
    study.name = "later", study.ranks = 2, study.model_json = run.model_json;
    const std::int64_t study_id = insert(connection, study);
    add_trial(study_id, "tutel", id, 0.15);
    add_trial(study_id, "sequential", on_slow, 0.3);
    connection.database().exec("UPDATE trial SET started_at = 2000 WHERE study_id = 2");
    connection.database().exec(
        "INSERT INTO measurement SELECT NULL, 2, op, device, dtype, ranks, parameters_json, bytes,"
        " count, flops, time_s * 1.5, min_s, max_s, samples, algorithm_bandwidth_bytes_per_s,"
        " bus_bandwidth_bytes_per_s, wrong, relative_deviation FROM measurement");
  }

  void add_trial(std::int64_t study, const std::string& planner, std::int64_t run,
                 double measured_s) {
    Trial trial = sample_trial(connection, study, planner);
    trial.id = find_or_insert(connection, trial);
    claim_trial(connection, trial.id);
    trial.status = "done", trial.measured_s = measured_s, trial.predicted_s = 0.12;
    trial.measured_peak_bytes = 500;
    finish_trial(connection, trial);
    TrialRepeat repeat;
    repeat.trial_id = trial.id, repeat.run_id = run, repeat.measured_s = measured_s;
    insert(connection, repeat);
  }

  /// A timeline with an expert layer of so many FLOPs, and a communication: rank 1 is late.
  void store_experts(std::int64_t run, double flops) {
    std::vector<TimelineOp> ops = sample_ops();
    ops[2].kind = "expert_linear";
    std::vector<Span> spans = sample_spans();
    spans[2].flops = spans[5].flops = flops;
    spans[1].waiting_s = 0.001, spans[4].waiting_s = 0;
    TimelineInfo timeline;
    timeline.run_id = run, timeline.kind = "measured";
    insert(connection, timeline, ops, spans);
  }

  Connection connection = open_writer(":memory:");
};

TEST_F(Questions, EachIsAnsweredAsThePageSays) {
  const std::map<std::string, std::string> expected{
      {"Which planner is fastest on which network?",
       "tiny fast tutel 1 0.15 2\ntiny slow tutel 1 0.1 2\ntiny slow sequential 2 0.2 1\n"},
      {"Which communication does no computation hide?", "tiny all_to_all 0.0035 0.0005\n"},
      {"Which expert is hottest?", "1 3 2400 1.6\n1 2 1800 1.2\n1 1 1200 0.8\n1 0 600 0.4\n"},
      {"Does a host become slower?", "1 1000 3.333e+11 0\n2 2000 2.667e+11 -0.2\n"},
      {"Whose predictions are wrong, and to which side?",
       "sequential 2 0.325 -0.275\ntutel 2 0.15 -0.05\n"},
      {"Which commit made trainings slower?",
       "tiny sequential b 0.3 0.5\ntiny sequential a 0.2 -\ntiny tutel b 0.15 -\ntiny tutel a 0.1 "
       "-\n"},
      {"How much memory does a strategy take?",
       "tiny pipemoe - 270 1\ntiny sequential 500 90 0\ntiny tutel 500 180 0\n"},
      {"Which rank do the others wait for?", "1 n1 0 0.005\n0 n0 0.001 0.003\n"},
      {"Which fits was a trial predicted with?", "predicted 0 gemm 0.25 2e-12 flop 4 -\n"},
      {"How many tokens a second does a model train?",
       "tiny 4 cores of a processor, 16 GiB slow 2 1.024e+04\n"},
      {"How much machine time did a study take?", "later 1 1 2\n"},
      {"Is the cluster as fast as in an earlier sweep?", "all_to_all 2 16777216 0.07 0.105 0.5\n"}};
  const auto asked = questions();
  ASSERT_EQ(asked.size(), 12U);
  for (const auto& [question, sql] : asked) {
    ASSERT_TRUE(expected.contains(question)) << question;
    EXPECT_EQ(rows_of(connection, sql), expected.at(question)) << question;
  }
}

TEST_F(Questions, NoneReadsAllSpansOrSumsOverThem) {
  for (const auto& [question, sql] : questions()) {
    SQLite::Statement plan(connection.database(), "EXPLAIN QUERY PLAN " + sql);
    while (plan.executeStep()) {
      const std::string step = plan.getColumn(3);
      for (const char* table : {"span", "op_activity", "rank_activity", "load", "planned"}) {
        EXPECT_FALSE((step + " ").starts_with(fmt::format("SCAN {} ", table)))
            << question << ": " << step;
      }
    }
  }
}

}  // namespace
}  // namespace db::questions_test
