#include <CLI/CLI.hpp>

#include "db/commands.h"
#include "db/console/options.h"
#include "db/console/run_program.h"
#include "db/error.h"

namespace {

const char* const kExamples = R"(moe-db runs --db results.db --kind train --limit 10
moe-db trials --db results.db --study quickstart
moe-db spans --db results.db --timeline 3 --rank 0 --format csv > spans.csv
moe-db query --db results.db "SELECT planner, measured_s FROM trial_view"
moe-db export trace --db results.db --run 7 -o trace.json
moe-db best quickstart --db results.db
moe-db merge node1.db node2.db -o all.db
moe-db import figures build/reproduce/all.csv --db results.db
moe-db check --db results.db)";

const char* const kNotes =
    R"(A table shows the main columns, with units, and instants in UTC. CSV and JSON
have every column, in seconds, bytes and FLOPs.
An output file may be a link, a device or a pipe. A plain file is replaced once
everything is written.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Lists, queries, compares, exports, imports, merges and checks result databases of moelab.",
      "moe-db");
  db::options::set_up_program(app, kExamples, kNotes);
  std::function<int()> action;
  db::add_commands(app, {argv, argv + argc}, action);
  return db::run_program(
      app, argc, argv, [&] { return action(); }, db::exit_code);
}
