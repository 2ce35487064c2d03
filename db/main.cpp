#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <map>

#include "db/check.h"
#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/console/output_file.h"
#include "db/export.h"
#include "db/identity.h"
#include "db/listings.h"
#include "db/load.h"
#include "db/query.h"

namespace {

const char* const program_footer = R"(Examples:
  moe-db runs --db results.db --kind train --limit 10
  moe-db trials --db results.db --study quickstart
  moe-db spans --db results.db --timeline 3 --rank 0 --format csv > spans.csv
  moe-db query --db results.db "SELECT planner, min(measured_s) AS best_s FROM trial_view GROUP BY 1"
  moe-db export trace --db results.db --run 7 -o trace.json   # open it in https://ui.perfetto.dev
  moe-db check --db results.db

A table shows the main columns, with units, and instants in UTC; csv and json have every column, in
seconds, bytes and FLOPs.
What is named for output is written through links, devices and pipes; a plain file is replaced once
everything is written.
Exit codes: 0 done, 1 a check failed, the database was locked or output could not be written, 2 wrong
use or wrong file.)";

/// What `moe-db VERB -h` ends with.
std::string example(const std::string& command) {
  return fmt::format("Example:\n  moe-db {}", command);
}

/// What the command line says; one subcommand uses some of it.
struct Arguments {
  std::string path;
  std::string format = "table";
  std::string color = "auto";
  std::int64_t limit = 0;
  std::map<std::string, std::string> filters;  // by option
  std::string sql;
  std::int64_t run = 0;
  std::vector<std::int64_t> timelines;
  std::string output;
  double stale_after_s = 60;
  bool fix = false;
};

db::Style style_of(const Arguments& arguments) {
  return {*db::parse_format(arguments.format), db::use_color(arguments.color, stdout)};
}

int list(const db::Listing& listing, const Arguments& arguments) {
  const auto connection = db::open_reader(arguments.path);
  const auto rows = db::write_listing(stdout, style_of(arguments), connection, listing,
                                      arguments.filters, arguments.limit);
  if (rows == 0) fmt::print(stderr, "moe-db: no {} match\n", listing.command);
  return 0;
}

int query(const Arguments& arguments) {
  const auto connection = db::open_reader(arguments.path);
  db::Query query(connection, arguments.sql);
  db::write_query(stdout, style_of(arguments), query);
  return 0;
}

int export_trace(const Arguments& arguments) {
  const auto connection = db::open_reader(arguments.path);
  auto timelines = arguments.timelines;
  if (timelines.empty()) {
    const auto timeline = db::default_timeline(connection, arguments.run);
    fmt::print(stderr, "moe-db: timeline {} of run {}: {}, iteration {}\n", timeline.id,
               arguments.run, timeline.kind, timeline.iteration);
    timelines.push_back(timeline.id);
  }
  for (const std::int64_t id : timelines) {
    const auto timeline = db::load_timeline(connection, id);
    if (arguments.run != 0 && timeline.run_id != arguments.run) {
      throw db::Error(db::ErrorKind::not_found, fmt::format("{}: timeline {} is not of run {}",
                                                            arguments.path, id, arguments.run));
    }
  }
  db::export_trace(connection, timelines, arguments.output);
  return 0;
}

int check(const Arguments& arguments) {
  std::vector<std::string> problems;
  try {
    if (arguments.fix) {
      auto connection = db::open_writer(arguments.path, {.create = false});
      const auto fixed = db::fix_stale(connection, arguments.stale_after_s);
      fmt::print(stderr, "moe-db: {} trials requeued, {} runs marked killed\n",
                 fixed.requeued_trials, fixed.killed_runs);
    }
    problems = db::find_problems(db::open_reader(arguments.path), arguments.stale_after_s);
  } catch (const db::Error& error) {
    if (error.kind != db::ErrorKind::corrupt) throw;
    problems.emplace_back(error.what());
  }
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (problems.empty()) fmt::print("{}: sound\n", arguments.path);
  return problems.empty() ? 0 : 1;
}

// The values stand in the type name already.
CLI::Validator one_of(const std::vector<std::string>& values) {
  return CLI::IsMember(values).description("");
}

CLI::Validator row_count() {
  const auto check = [](const std::string& text) {
    std::int64_t rows = -1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, rows);
    const bool sound = error == std::errc() && end == last && rows >= 0;
    return sound ? std::string() : "expected an integer of at least 0, got " + text.substr(0, 40);
  };
  return {check, ""};
}

void add_database(CLI::App& command, Arguments& arguments) {
  command.add_option("--db", arguments.path, "the database")->required()->type_name("FILE");
}

void add_format(CLI::App& command, Arguments& arguments) {
  command.add_option("--format", arguments.format, "how rows are written")
      ->check(one_of({"table", "csv", "json"}))
      ->type_name("table|csv|json")
      ->capture_default_str();
  command.add_option("--color", arguments.color, "colours of a table; NO_COLOR is honoured")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never")
      ->capture_default_str();
}

int run(int argc, char** argv) {
  CLI::App app{"Lists, queries, exports and checks the result database of moelab.", "moe-db"};
  app.footer(program_footer);
  app.set_version_flag("--version", db::version_line("moe-db"), "print the version and build");
  app.require_subcommand(1);
  Arguments arguments;
  std::function<int()> action;

  for (const db::Listing& listing : db::all_listings()) {
    auto* command = app.add_subcommand(listing.command, listing.description);
    add_database(*command, arguments);
    add_format(*command, arguments);
    command->add_option("--limit", arguments.limit, "at most so many rows; 0 is all")
        ->check(row_count())
        ->type_name("N")
        ->capture_default_str();
    for (const db::ListingFilter& filter : listing.filters) {
      command
          ->add_option_function<std::string>(
              filter.option,
              [&arguments, &filter](const std::string& value) {
                arguments.filters[filter.option] = value;
              },
              filter.description)
          ->type_name("VALUE");
    }
    command->footer(example(listing.example) +
                    "\n\nA table shows the main columns, csv and json every column of " +
                    listing.view + "." + (*listing.notes == '\0' ? "" : "\n") + listing.notes);
    command->callback([&] { action = [&] { return list(listing, arguments); }; });
  }

  auto* query_command = app.add_subcommand("query", "run one SQL statement that only reads");
  add_database(*query_command, arguments);
  add_format(*query_command, arguments);
  query_command
      ->add_option("sql", arguments.sql, "the statement; the views are listed in db/README.md")
      ->required();
  query_command->footer(example(
      "query --db results.db \"SELECT planner, min(measured_s) AS best_s FROM trial_view GROUP BY "
      "planner\"\n\nA table formats a column by the end of its name: _s, _bytes, _bytes_per_s, "
      "..."));
  query_command->callback([&] { action = [&] { return query(arguments); }; });

  auto* export_command = app.add_subcommand("export", "write data in other programs' formats");
  export_command->require_subcommand(1);
  auto* trace_command =
      export_command->add_subcommand("trace", "Chrome trace-event JSON that Perfetto opens");
  add_database(*trace_command, arguments);
  trace_command
      ->add_option("--run", arguments.run,
                   "its last measured iteration, else its shortest prediction")
      ->type_name("ID");
  trace_command
      ->add_option("--timeline", arguments.timelines, "this timeline; several are put side by side")
      ->type_name("ID");
  trace_command->add_option("-o,--output", arguments.output, "the file to write; - is stdout")
      ->required()
      ->type_name("FILE");
  trace_command->footer(example(
      "export trace --db results.db --run 7 -o trace.json   # for https://ui.perfetto.dev"));
  trace_command->callback([&] {
    if (arguments.run == 0 && arguments.timelines.empty()) {
      throw CLI::RequiredError("--run or --timeline");
    }
    action = [&] { return export_trace(arguments); };
  });

  auto* check_command = app.add_subcommand(
      "check", "integrity, references, schema, runs and trials that were killed");
  add_database(*check_command, arguments);
  check_command
      ->add_option("--stale-after", arguments.stale_after_s,
                   "seconds without a sign of life after which a running row was killed")
      ->check(CLI::Validator(
          [](const std::string& text) {
            char* end = nullptr;
            const double seconds = std::strtod(text.c_str(), &end);
            const bool sound =
                end != text.c_str() && *end == '\0' && seconds >= 0 && seconds <= 1e9;
            return sound ? std::string()
                         : "expected seconds from 0 to 1e9, got " + text.substr(0, 40);
          },
          ""))
      ->type_name("S")
      ->capture_default_str();
  check_command->add_flag(
      "--fix", arguments.fix,
      "requeue killed trials, mark killed runs, bring an older file up to date");
  check_command->footer(example(
      "check --db results.db\n\nExit codes: 0 sound, 1 something is wrong, 2 no database."));
  check_command->callback([&] { action = [&] { return check(arguments); }; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE,
              SIG_IGN);  // `moe-db ... | head` then ends by an error of write, and in silence
  try {
    return db::flushed("moe-db", run(argc, argv));
  } catch (const db::OutputError& error) {
    if (error.closed) return 0;
    fmt::print(stderr, "moe-db: {}\n", error.message);
    return 1;
  } catch (const db::Error& error) {
    fmt::print(stderr, "moe-db: {}\n", error.what());
    return db::exit_code(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "moe-db: {}\n", error.what());
    return 1;
  }
}
