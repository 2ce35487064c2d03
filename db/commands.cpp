#include "db/commands.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "db/check.h"
#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/folder_name.h"
#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/export.h"
#include "db/file_commands.h"
#include "db/import_commands.h"
#include "db/listings.h"
#include "db/load.h"
#include "db/query.h"
#include "db/study_commands.h"
#include "db/timeline/chrome_trace.h"
#include "db/timeline/kineto_trace.h"
#include "db/timeline_commands.h"
#include "db/view_columns.h"

namespace db {
namespace {

/// The values of the command line; each subcommand uses some of them.
struct Arguments {
  std::string path;
  options::Output output;
  std::int64_t limit = 0;
  std::map<std::string, std::string> filters;  // by option
  std::string sql;
  std::string view;
  std::int64_t run = 0;
  std::vector<std::int64_t> timelines;
  std::optional<int> iteration;
  std::string file;
  std::string folder;
  double stale_after_s = 60;
  bool fix = false;
};

int list(const Listing& listing, const Arguments& arguments) {
  const auto connection = open_reader(arguments.path);
  const auto rows = write_listing(stdout, arguments.output.style(stdout), connection, listing,
                                  arguments.filters, arguments.limit);
  if (rows == 0) spdlog::info("no {} match", listing.command);
  return kExitDone;
}

int list_columns(const Arguments& arguments) {
  const auto& columns = view_columns();
  const auto is_asked = [&](const ViewColumn& column) {
    return arguments.view.empty() || column.view == arguments.view;
  };
  if (std::none_of(columns.begin(), columns.end(), is_asked)) {
    throw Error(ErrorKind::not_found, fmt::format("no view {}", arguments.view));
  }
  const Style style = arguments.output.style(stdout);
  if (style.format == Format::table) {  // whole sentences, which a table would cut
    std::string view;
    for (const ViewColumn& column : columns) {
      if (!is_asked(column)) continue;
      if (column.view != view) fmt::print("{}{}\n", view.empty() ? "" : "\n", column.view);
      view = column.view;
      fmt::print("  {:<32} {:<8} {}\n", column.name, column.unit, column.meaning);
    }
    return kExitDone;
  }
  RowWriter writer(stdout, style, {"view", "column", "unit", "meaning"});
  for (const ViewColumn& column : columns) {
    if (is_asked(column)) writer.row({column.view, column.name, column.unit, column.meaning});
  }
  writer.finish();
  return kExitDone;
}

int query(const Arguments& arguments) {
  const auto connection = open_reader(arguments.path);
  Query query(connection, arguments.sql);
  write_query(stdout, arguments.output.style(stdout), query);
  return kExitDone;
}

// The timelines that were asked for; of a run its measured one and, beside it, the predicted one.
std::vector<TimelineInfo> exported_timelines(const Connection& connection,
                                             const Arguments& arguments) {
  std::vector<TimelineInfo> timelines;
  for (const std::int64_t id : arguments.timelines) {
    timelines.push_back(load_timeline(connection, id));
    if (arguments.run != 0 && timelines.back().run_id != arguments.run) {
      throw Error(ErrorKind::not_found, fmt::format("{}: timeline {} is not of run {}",
                                                    arguments.path, id, arguments.run));
    }
  }
  if (!timelines.empty()) return timelines;
  timelines.push_back(default_timeline(connection, arguments.run));
  const TimelineInfo& shown = timelines.front();
  spdlog::info("timeline {} of run {}: {}, iteration {}", shown.id, arguments.run, shown.kind,
               shown.iteration);
  if (const auto predicted = prediction_beside(connection, shown)) {
    spdlog::info("timeline {} beside it: predicted", predicted->id);
    timelines.push_back(*predicted);
  }
  return timelines;
}

int export_timelines(const Arguments& arguments) {
  const auto connection = open_reader(arguments.path);
  if (!arguments.file.empty()) expect_output(arguments.file);
  const std::vector<TimelineInfo> timelines = exported_timelines(connection, arguments);
  if (!arguments.folder.empty()) {
    export_rank_traces(connection, timelines.front(), arguments.folder);
  }
  if (arguments.file.empty()) return kExitDone;
  std::vector<std::int64_t> ids;
  for (const TimelineInfo& timeline : timelines) ids.push_back(timeline.id);
  export_trace(connection, ids, arguments.file);
  return kExitDone;
}

int export_loads(const Arguments& arguments) {
  const auto connection = open_reader(arguments.path);
  if (!arguments.file.empty()) expect_output(arguments.file);
  const int last = last_loads_iteration(connection, arguments.run);
  if (!arguments.folder.empty()) {
    const int written = export_routings(connection, arguments.run, arguments.folder);
    spdlog::info("the routings of {} iterations of run {} in {}", written, arguments.run,
                 arguments.folder);
  }
  if (arguments.file.empty()) return kExitDone;
  const int iteration = arguments.iteration.value_or(last);
  export_routing(connection, arguments.run, iteration, arguments.file);
  spdlog::info("the routing of run {}, iteration {}", arguments.run, iteration);
  return kExitDone;
}

int check(const Arguments& arguments) {
  std::vector<std::string> problems;
  try {
    if (arguments.fix) {
      auto connection = open_writer(arguments.path, {.create = false});
      const auto fixed = fix_stale(connection, arguments.stale_after_s);
      spdlog::info("{} trials requeued, {} runs marked killed", fixed.requeued_trials,
                   fixed.killed_runs);
    }
    problems = find_problems(open_reader(arguments.path), arguments.stale_after_s);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::corrupt) throw;
    problems.emplace_back(error.what());
  }
  for (const std::string& problem : problems) fmt::print("{}\n", escaped(problem));
  if (problems.empty()) fmt::print("{}: sound\n", escaped(arguments.path));
  return problems.empty() ? kExitDone : kExitFailed;
}

using Shared = std::shared_ptr<Arguments>;

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const Shared& arguments) {
  CLI::App* command = app.add_subcommand(name, description);
  options::add_database(*command, arguments->path, "the database to read");
  command->get_option("--db")->required();
  return *command;
}

void add_listing(CLI::App& app, const Listing& listing, const Shared& arguments,
                 std::function<int()>& action) {
  CLI::App& command = add_command(app, listing.command, listing.description, arguments);
  options::add_output(command, arguments->output);
  command.add_option("--limit", arguments->limit, "print at most this many rows; 0 prints all")
      ->check(options::whole_number(0))
      ->type_name("N")
      ->capture_default_str()
      ->group("Rows");
  for (const ListingFilter& filter : listing.filters) {
    const auto keep = [arguments, &filter](const std::string& value) {
      arguments->filters[filter.option] = value;
    };
    command.add_option_function<std::string>(filter.option, keep, filter.description)
        ->type_name("VALUE")
        ->group("Rows");
  }
  const std::string notes = *listing.notes == '\0' ? "" : std::string("\n") + listing.notes;
  options::set_footer(command, fmt::format("moe-db {}", listing.example),
                      fmt::format("A table has the main columns. CSV and JSON have every column of "
                                  "{}.{}",
                                  listing.view, notes));
  command.callback([arguments, &listing, &action] {
    action = [arguments, &listing] { return list(listing, *arguments); };
  });
}

void add_columns(CLI::App& app, const Shared& arguments, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("columns", "list the columns of the views: their units and meanings");
  options::add_output(*command, arguments->output);
  command->add_option("VIEW", arguments->view, "a view [default: all]")->type_name("");
  options::set_footer(*command, "moe-db columns trial_view");
  command->callback(
      [arguments, &action] { action = [arguments] { return list_columns(*arguments); }; });
}

void add_query(CLI::App& app, const Shared& arguments, std::function<int()>& action) {
  CLI::App& command = add_command(app, "query", "run one SQL statement that only reads", arguments);
  options::add_output(command, arguments->output);
  command.add_option("SQL", arguments->sql, "the statement; db/views.md lists the views")
      ->required()
      ->type_name("");
  options::set_footer(command,
                      "moe-db query --db results.db \\\n"
                      "  \"SELECT planner, min(measured_s) AS best_s FROM trial_view GROUP BY 1\"",
                      "A table formats a column by the end of its name: _s, _bytes, _bytes_per_s.");
  command.callback([arguments, &action] { action = [arguments] { return query(*arguments); }; });
}

CLI::Option* add_output_file(CLI::App& command, const Shared& arguments) {
  return command.add_option("-o,--output", arguments->file, "the file to write; - is stdout")
      ->type_name("FILE");
}

void add_export_trace(CLI::App& formats, const Shared& arguments, std::function<int()>& action) {
  CLI::App& command = add_command(formats, "trace",
                                  "write Chrome trace-event JSON, which Perfetto opens", arguments);
  command
      .add_option("--run", arguments->run,
                  "export the last measured iteration of this run and its prediction beside it; "
                  "where none was measured, its shortest prediction")
      ->type_name("ID");
  command
      .add_option("--timeline", arguments->timelines,
                  "export this timeline; several are put side by side")
      ->type_name("ID");
  add_output_file(command, arguments);
  command
      .add_option("--per-rank", arguments->folder,
                  "write a file per rank of the first timeline into this folder, as PyTorch's "
                  "profiler does; HTA reads them")
      ->check(options::folder_name())
      ->type_name("DIR");
  options::set_footer(command,
                      "moe-db export trace --db results.db --run 7 -o trace.json\n"
                      "moe-db export trace --db results.db --run 7 --per-rank traces",
                      "Open the file in https://ui.perfetto.dev.");
  command.callback([arguments, &action] {
    if (arguments->run == 0 && arguments->timelines.empty()) {
      throw CLI::RequiredError("--run or --timeline");
    }
    if (arguments->file.empty() && arguments->folder.empty()) {
      throw CLI::RequiredError("--output or --per-rank");
    }
    action = [arguments] { return export_timelines(*arguments); };
  });
}

void add_export_routing(CLI::App& formats, const Shared& arguments, std::function<int()>& action) {
  CLI::App& command =
      add_command(formats, "routing",
                  "write how many tokens each rank sent to each expert, as JSON that moe-tune "
                  "--routing reads",
                  arguments);
  command.add_option("--run", arguments->run, "the training, or what import routing stored")
      ->required()
      ->type_name("ID");
  command
      .add_option("--iteration", arguments->iteration,
                  "the iteration [default: the last whose loads are stored]")
      ->type_name("N");
  command
      .add_option("--each", arguments->folder,
                  "write a file for each iteration whose loads are stored into this folder")
      ->check(options::folder_name())
      ->type_name("DIR");
  add_output_file(command, arguments);
  options::set_footer(command,
                      "moe-db export routing --db results.db --run 7 -o loads.json\n"
                      "moe-db export routing --db results.db --run 7 --each loads",
                      "Then: moe-tune compare --model tiny --cluster box --ranks 4 \\\n"
                      "  --routing loads.json");
  command.callback([arguments, &action] {
    if (arguments->file.empty() && arguments->folder.empty()) {
      throw CLI::RequiredError("--output or --each");
    }
    action = [arguments] { return export_loads(*arguments); };
  });
}

void add_export(CLI::App& app, const Shared& arguments, std::function<int()>& action) {
  CLI::App* formats = app.add_subcommand("export", "write timelines, loads and schedules as JSON");
  formats->require_subcommand(1);
  add_export_trace(*formats, arguments, action);
  add_export_routing(*formats, arguments, action);
  add_export_schedule(*formats, action);
  options::set_footer(*formats,
                      "moe-db export trace --db results.db --run 7 -o trace.json\n"
                      "moe-db export routing --db results.db --run 7 -o loads.json\n"
                      "moe-db export schedule --db results.db --trial 7 -o s.json");
}

void add_check(CLI::App& app, const Shared& arguments, std::function<int()>& action) {
  CLI::App& command = add_command(
      app, "check", "look for damage, lost rows, and runs and trials that were killed", arguments);
  command
      .add_option("--stale-after", arguments->stale_after_s,
                  "take runs and trials for killed that say they run and gave no sign of life for "
                  "this many seconds")
      ->check(options::seconds(true))
      ->type_name("S")
      ->capture_default_str();
  command.add_flag("--fix", arguments->fix,
                   "requeue killed trials, mark killed runs as killed, bring views up to date");
  options::set_footer(command, "moe-db check --db results.db",
                      "Exit codes: 0 sound, 1 something is wrong, 2 no database.");
  command.callback([arguments, &action] { action = [arguments] { return check(*arguments); }; });
}

}  // namespace

void add_commands(CLI::App& app, const std::vector<std::string>& command_line,
                  std::function<int()>& action) {
  const auto arguments = std::make_shared<Arguments>();
  app.require_subcommand(1);
  for (const Listing& listing : all_listings()) add_listing(app, listing, arguments, action);
  add_columns(app, arguments, action);
  add_query(app, arguments, action);
  add_export(app, arguments, action);
  add_import_commands(app, command_line, action);
  add_check(app, arguments, action);
  add_study_commands(app, action);
  add_timeline_commands(app, action);
  add_file_commands(app, action);
}

}  // namespace db
