#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/console/folder_name.h"
#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/console/run_program.h"
#include "db/error.h"
#include "db/output_place.h"
#include "viewer/app/app.h"
#include "viewer/app/workspace.h"
#include "viewer/model/last_views.h"
#include "viewer/model/rank_rows.h"
#include "viewer/report/report.h"
#include "viewer/window/window.h"

namespace {

constexpr int kSettlingFrames = 4;  // layout and column widths of tables take a few

const char* const kExamples = R"(moe-view results.db
moe-view monday.db tuesday.db
moe-view results.db --run 12 --panel loads
moe-view results.db --timeline 3 --timeline 8
moe-view results.db --screenshot best.png
moe-view results.db --report best)";

const char* const kNotes =
    R"(Without --run or --timeline the last view of the database is shown again,
unless a later study or run has a timeline. Without a database the window lists
those that were open before. A file that is dropped on the window opens in a
tab. Several timelines are stacked. A picture and a report need no display.
Keys: W/S zoom, A/D pan, F fit, ? shows the others.)";

struct Options {
  std::vector<std::string> databases;
  viewer::Opening opening;
  std::string screenshot;
  std::string report;
  std::string size = "1600x900";
  double scale = 0;
  std::string range;
};

struct Size {
  int width = 0;
  int height = 0;
};

// "0.12:0.2" in seconds.
std::optional<viewer::TimeRange> parse_range(const std::string& text) {
  if (text.empty()) return std::nullopt;
  viewer::TimeRange range;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%lf:%lf%c", &range.begin_s, &range.end_s, &rest);
  if (read != 2 || !(range.end_s > range.begin_s) || !std::isfinite(range.end_s - range.begin_s)) {
    throw CLI::ValidationError("--range", text + " is not BEGIN:END in seconds, e.g. 0.12:0.2");
  }
  return range;
}

Size parse_size(const std::string& text) {
  Size size;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%dx%d%c", &size.width, &size.height, &rest);
  // Eleven characters, so that no number is beyond an int.
  if (text.size() > 11 || read != 2 || size.width < 320 || size.height < 240 ||
      size.width > 16384 || size.height > 16384) {
    throw CLI::ValidationError(
        "--size", text + " is not WIDTHxHEIGHT between 320x240 and 16384x16384, e.g. 1600x900");
  }
  return size;
}

float parse_scale(double scale) {
  if (scale == 0 || (scale >= 0.5 && scale <= 4)) return static_cast<float>(scale);
  throw CLI::ValidationError("--scale", fmt::format("{} is not between 0.5 and 4", scale));
}

std::vector<std::string> panel_names() {
  std::vector<std::string> names;
  for (const viewer::Panel& panel : viewer::all_panels()) names.emplace_back(panel.name);
  return names;
}

// The name of a picture of the window: that of the panel, and a number that is free here.
std::string free_picture_name(const viewer::Panel& panel) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("moe-view-{}-{}.png", panel.name, number);
    if (!std::filesystem::exists(name)) return name;
  }
}

// Saves what P asked for, and says in the window where, or why it cannot.
void keep_picture(viewer::App& app, const viewer::Image& image) {
  app.wants_picture = false;
  try {
    const std::string name = free_picture_name(*app.panel);
    db::write_output(name, viewer::encode_png(image));
    app.notice = "saved " + name;
  } catch (const db::OutputError& error) {
    app.session.problem = error.what();
  }
}

// The database that a report or a picture is made of.
const std::string& only_database(const Options& options) {
  if (options.databases.size() == 1) return options.databases.front();
  throw CLI::ValidationError(
      options.report.empty() ? "--screenshot" : "--report",
      fmt::format("shows one database, {} are given", options.databases.size()));
}

void report(const Options& options) {
  const db::Connection connection = db::open_reader(only_database(options));
  viewer::Session session = viewer::open_session(connection, options.opening.start);
  viewer::write_report(session, options.report);
}

void draw_picture(const Options& options, Size size) {
  const std::string& database = only_database(options);
  // The file first, so that a wrong file is reported even without a display.
  const db::Connection connection = db::open_reader(database);
  db::refuse_database_as_output(options.screenshot, database);
  db::expect_output(options.screenshot);
  viewer::App app{viewer::open_session(connection, options.opening.start)};
  viewer::show_panel(app, options.opening.panel);
  viewer::show_figures(app, options.opening.table);
  viewer::show_ranks(app, options.opening.ranks, options.opening.rank_order);
  db::OutputFile picture(options.screenshot);
  viewer::Window window("moe-view", size.width, size.height, false, parse_scale(options.scale));
  const auto draw = [&] {
    app.fonts = window.fonts();
    viewer::draw_app(app);
  };
  picture.write(viewer::encode_png(window.render(draw, size.width, size.height, kSettlingFrames)));
  picture.commit();
}

void show_window(const Options& options, Size size) {
  viewer::Workspace workspace = viewer::make_workspace(viewer::last_views_file());
  if (options.scale != 0) workspace.zoom = 1;
  for (const std::string& database : options.databases) {
    viewer::open_database(workspace, database, options.opening);
  }
  workspace.active = 0;
  const std::string title = options.databases.size() == 1 ? ": " + options.databases.front() : "";
  viewer::Window window("moe-view" + title, size.width, size.height, true,
                        parse_scale(options.scale));
  window.run(
      {.draw = [&] { viewer::draw_workspace(workspace, window.fonts()); },
       .is_animating =
           [&] {
             viewer::App* app = viewer::shown_app(workspace);
             return app != nullptr && viewer::is_moving(*app);
           },
       .wants_picture =
           [&] {
             const viewer::App* app = viewer::shown_app(workspace);
             return app != nullptr && app->wants_picture;
           },
       .keep =
           [&](const viewer::Image& image) { keep_picture(*viewer::shown_app(workspace), image); },
       .zoom = [&] { return workspace.zoom; },
       .dropped = [&](const std::string& path) { viewer::open_picked(workspace, path); }});
  viewer::keep_views(workspace);
}

int view(const Options& options, Size size) {
  if (!options.report.empty()) {
    report(options);
  } else if (!options.screenshot.empty()) {
    draw_picture(options, size);
  } else {
    show_window(options, size);
  }
  return 0;
}

std::vector<std::string> rank_orders() {
  std::vector<std::string> names;
  for (const viewer::RankOrder order : viewer::kRankOrders) {
    names.emplace_back(viewer::rank_order_name(order));
  }
  return names;
}

// Which of what the database holds is shown.
void add_view_options(CLI::App& cli, Options& options) {
  viewer::Opening& opening = options.opening;
  cli.add_option("--run", opening.start.run,
                 "show this run [default: the latest study or run with a timeline]")
      ->type_name("ID");
  cli.add_option("--timeline", opening.start.timelines,
                 "show this timeline; several are stacked, the first on top")
      ->type_name("ID");
  opening.panel = viewer::all_panels().front().name;
  cli.add_option("--panel", opening.panel,
                 fmt::format("show this panel first: {}", fmt::join(panel_names(), ", ")))
      ->check(db::options::one_of(panel_names()))
      ->type_name("PANEL")
      ->capture_default_str();
  opening.table = "ranks";
  cli.add_option("--table", opening.table,
                 fmt::format("show this table below the timelines: {}",
                             fmt::join(viewer::figures_names(), ", ")))
      ->check(db::options::one_of(viewer::figures_names()))
      ->type_name("TABLE")
      ->capture_default_str();
  cli.add_option("--range", options.range, "show this part of the timelines, in seconds")
      ->type_name("BEGIN:END");
  cli.add_option("--ranks", opening.ranks, "show only these ranks: 0-7,64")->type_name("LIST");
  opening.rank_order = "number";
  cli.add_option(
         "--rank-order", opening.rank_order,
         fmt::format("sort ranks by this, the largest first: {}", fmt::join(rank_orders(), ", ")))
      ->check(db::options::one_of(rank_orders()))
      ->type_name("ORDER")
      ->capture_default_str();
}

// Whether a person asked for a view by any of the options above.
bool is_view_asked(const CLI::App& cli) {
  for (const char* name :
       {"--run", "--timeline", "--panel", "--table", "--range", "--ranks", "--rank-order"}) {
    if (cli.count(name) > 0) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App cli("Look at runs: timelines, expert loads, losses, trials.", "moe-view");
  db::options::set_up_program(cli, kExamples, kNotes);
  cli.add_option("--db,DB", options.databases,
                 "the result databases, with or without --db; each has a tab")
      ->type_name("FILE");
  add_view_options(cli, options);
  cli.add_option("--screenshot", options.screenshot, "write a PNG of the window and end")
      ->check(db::options::not_empty())
      ->type_name("FILE")
      ->group("Picture");
  cli.add_option("--size", options.size, "how many pixels the window or the picture has")
      ->capture_default_str()
      ->type_name("WIDTHxHEIGHT")
      ->group("Picture");
  cli.add_option("--scale", options.scale,
                 "enlarge text and spacing by this factor [default: that of the screen]")
      ->type_name("FACTOR")
      ->group("Picture");
  cli.add_option("--report", options.report,
                 "write a report on the study, or on the search, into a new folder and end: a "
                 "page, pictures, tables")
      ->check(db::options::folder_name())
      ->type_name("DIR")
      ->group("Report")
      ->excludes("--screenshot");
  return db::run_program(
      cli, argc, argv,
      [&] {
        options.opening.start.view = parse_range(options.range);
        options.opening.is_asked = is_view_asked(cli);
        if (!viewer::parse_ranks(options.opening.ranks)) {
          throw CLI::ValidationError("--ranks",
                                     options.opening.ranks + " is no list of ranks, like 0-7,64");
        }
        return view(options, parse_size(options.size));
      },
      db::exit_code);
}
