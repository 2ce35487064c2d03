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
#include "db/console/options.h"
#include "db/console/output_file.h"
#include "db/console/run_program.h"
#include "db/error.h"
#include "db/output_place.h"
#include "viewer/app/app.h"
#include "viewer/report/report.h"
#include "viewer/window/window.h"

namespace {

constexpr int kSettlingFrames = 4;  // layout and column widths of tables take a few

const char* const kExamples = R"(moe-view results.db
moe-view results.db --run 12 --panel loads
moe-view results.db --timeline 3 --timeline 8
moe-view results.db --screenshot best.png
moe-view results.db --report best)";

const char* const kNotes =
    R"(Without --run or --timeline, the latest study or run with a timeline is shown.
Several timelines are stacked. A picture and a report need no display.
Keys: W/S zoom, A/D pan, F fit, ? shows the others.)";

struct Options {
  std::string database;
  viewer::Start start;
  std::string panel = viewer::all_panels().front().name;
  std::string screenshot;
  std::string report;
  std::string size = "1600x900";
  double scale = 0;
  std::string range;
  std::string table = "ranks";
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
  if (read != 2 || !(range.end_s > range.begin_s) || !std::isfinite(range.begin_s) ||
      !std::isfinite(range.end_s)) {
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
  } catch (const std::exception& error) {
    app.session.problem = error.what();
  }
}

int view(const Options& options, Size size) {
  // The file first, so that a wrong file is reported even without a display.
  const db::Connection connection = db::open_reader(options.database);
  const bool in_window = options.report.empty() && options.screenshot.empty();
  viewer::App app{viewer::open_session(connection, options.start, in_window)};
  if (!options.report.empty()) {
    viewer::write_report(app.session, options.report);
    return 0;
  }
  viewer::show_panel(app, options.panel);
  viewer::show_figures(app, options.table);
  std::optional<db::OutputFile> picture;
  if (!options.screenshot.empty()) {
    db::refuse_database_as_output(options.screenshot, options.database);
    picture.emplace(options.screenshot);
  }
  viewer::Window window("moe-view: " + options.database, size.width, size.height,
                        !picture.has_value(), parse_scale(options.scale));
  const auto draw = [&] {
    app.fonts = window.fonts();
    viewer::draw_app(app);
  };
  if (picture) {
    picture->write(
        viewer::encode_png(window.render(draw, size.width, size.height, kSettlingFrames)));
    picture->commit();
  } else {
    app.watch.emplace(connection);
    window.run({.draw = draw,
                .is_animating = [&] { return viewer::is_moving(app); },
                .wants_picture = [&] { return app.wants_picture; },
                .keep = [&](const viewer::Image& image) { keep_picture(app, image); },
                .zoom = [&] { return app.zoom; }});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App cli("Look at runs: timelines, expert loads, losses, trials.", "moe-view");
  db::options::set_up_program(cli, kExamples, kNotes);
  cli.add_option("--db,DB", options.database, "the result database, with or without --db")
      ->required()
      ->type_name("FILE");
  cli.add_option("--run", options.start.run,
                 "show this run [default: the latest study or run with a timeline]")
      ->type_name("ID");
  cli.add_option("--timeline", options.start.timelines,
                 "show this timeline; several are stacked, the first on top")
      ->type_name("ID");
  cli.add_option("--panel", options.panel,
                 fmt::format("show this panel first: {}", fmt::join(panel_names(), ", ")))
      ->check(db::options::one_of(panel_names()))
      ->type_name("PANEL")
      ->capture_default_str();
  cli.add_option("--table", options.table,
                 fmt::format("show this table below the timelines: {}",
                             fmt::join(viewer::figures_names(), ", ")))
      ->check(db::options::one_of(viewer::figures_names()))
      ->type_name("TABLE")
      ->capture_default_str();
  cli.add_option("--range", options.range, "show this part of the timelines, in seconds")
      ->type_name("BEGIN:END");
  cli.add_option("--screenshot", options.screenshot, "write a PNG of the window and end")
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
                 "write a report on the study into this folder, which is made, and end: a page, "
                 "pictures of all panels, tables")
      ->type_name("DIR")
      ->group("Report")
      ->excludes("--screenshot");
  return db::run_program(
      cli, argc, argv,
      [&] {
        options.start.view = parse_range(options.range);
        return view(options, parse_size(options.size));
      },
      db::exit_code);
}
