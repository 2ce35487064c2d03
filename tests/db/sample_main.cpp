#include <SQLiteCpp/Database.h>
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/db/sample.h"

namespace {

/// Timelines as large trainings make them: two MoE layers in four chunks, forward and backward.
void store_large(db::Connection& connection, int timelines, int ranks, int spans_of_rank) {
  struct Step {
    const char* kind;
    const char* activity;
    const char* stream;
  };
  constexpr Step kSteps[] = {{"attention", "computation", "compute"},
                             {"gate", "computation", "compute"},
                             {"all_to_all", "communication", "inter_node"},
                             {"expert_linear", "computation", "compute"},
                             {"all_to_all", "communication", "inter_node"}};
  std::vector<db::TimelineOp> ops(static_cast<std::size_t>(spans_of_rank));
  for (int i = 0; i < spans_of_rank; ++i) {
    db::TimelineOp& op = ops[static_cast<std::size_t>(i)];
    const Step& step = kSteps[i % 5];
    op.op = i, op.kind = step.kind, op.activity = step.activity, op.stream = step.stream;
    op.name = fmt::format("block{}.{}", i / 20 % 2, step.kind);
    op.phase = 2 * i < spans_of_rank ? "forward" : "backward";
    op.layer = 1 + i / 20 % 2;
    op.chunk = i / 5 % 4, op.chunks = 4;
  }
  db::Run run = db::sample_run(find_or_insert(connection, db::sample_machine()));
  run.ranks = ranks;
  for (int t = 0; t < timelines; ++t) {
    std::vector<db::Span> spans;
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < spans_of_rank; ++i) {
        db::Span& span = spans.emplace_back(db::make_span(rank, i, 0.001 * i, 0.0013, 1 << 20));
        span.flops = i % 5 == 3 ? 1e9 : 0;
        if (i % 5 == 2 || i % 5 == 4) span.waiting_s = 1e-5 * (rank % 7);
      }
    }
    run.started_at = db::now();
    db::Timeline timeline;
    timeline.run_id = insert(connection, run);
    timeline.kind = "measured";
    insert(connection, timeline, ops, spans);
  }
}

}  // namespace

/// db_sample FILE: a new database with one of everything. db_sample FILE "SQL": runs the SQL in it,
/// and makes it before that if there is no such file. db_sample FILE large TIMELINES RANKS SPANS: a
/// large one, with so many spans on each rank of each timeline.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const bool made = !std::filesystem::exists(argv[1]);
    auto connection = db::open_writer(argv[1]);
    if (argc == 6) {
      store_large(connection, std::stoi(argv[3]), std::stoi(argv[4]), std::stoi(argv[5]));
      return 0;
    }
    if (made || argc == 2) db::store_sample(connection);
    if (argc > 2) connection.database().exec(argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "db_sample: {}\n", error.what());
    return 1;
  }
}
