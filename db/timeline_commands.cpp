#include "db/timeline_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/console/exit_codes.h"
#include "db/console/format_rows.h"
#include "db/console/options.h"
#include "db/console/shown_text.h"
#include "db/load.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/op_label.h"
#include "db/timeline/read_timeline.h"
#include "db/timeline/timeline_text.h"
#include "db/timeline/typical.h"
#include "db/timeline/why.h"

namespace db {
namespace {

constexpr const char* kTimelines = "Timelines";  // the group of options that name one

struct WhyArguments {
  std::string path;
  options::Output output;
  std::vector<std::int64_t> timelines, runs, trials;
  std::vector<std::string> order;  ///< "--timeline", "--run" or "--trial" of each id, as given
};

TimelineInfo typical_of(const Connection& connection, const TimelineFilter& filter,
                        std::optional<double> figure_s, const std::string& of) {
  const std::vector<TimelineInfo> timelines = load_timelines(connection, filter);
  std::vector<const TimelineInfo*> all;
  for (const TimelineInfo& one : timelines) all.push_back(&one);
  const TimelineInfo* typical = typical_timeline(std::move(all), figure_s);
  if (typical != nullptr) return *typical;
  throw Error(ErrorKind::not_found, fmt::format("{}: {} has no timeline", connection.path(), of));
}

std::vector<Timeline> asked_for(const Connection& connection, const WhyArguments& arguments) {
  std::vector<TimelineInfo> infos;
  std::size_t timeline = 0, run = 0, trial = 0;
  for (const std::string& option : arguments.order) {
    if (option == "--timeline") {
      infos.push_back(load_timeline(connection, arguments.timelines.at(timeline++)));
    } else if (option == "--run") {
      const std::int64_t id = arguments.runs.at(run++);
      load_run(connection, id);  // says so where there is no such run
      infos.push_back(typical_of(connection, {.run_id = id}, {}, fmt::format("run {}", id)));
    } else {
      const std::int64_t id = arguments.trials.at(trial++);
      infos.push_back(typical_of(connection, {.trial_id = id},
                                 load_trial(connection, id).measured_s,
                                 fmt::format("trial {}", id)));
    }
  }
  std::vector<Timeline> timelines;
  for (const TimelineInfo& info : infos) {
    timelines.push_back(read_timeline(connection, info));
    if (timelines.back().spans > 0) continue;
    throw Error(ErrorKind::not_found,
                fmt::format("{}: timeline {} has no spans", connection.path(), info.id));
  }
  return timelines;
}

void print_paragraphs(const std::vector<std::string>& paragraphs) {
  for (const std::string& paragraph : paragraphs) fmt::print("{}\n\n", escaped(paragraph));
}

/// The rows of one timeline: what about, of what, and how long.
class WhyRows {
 public:
  WhyRows(Style style, const Timeline& timeline)
      : timeline_(timeline),
        writer_(stdout, style,
                {"timeline", "about", "what", "rank", "count", "time_s", "duration_share",
                 "waiting_s", "waited_for_rank", "which_ran", "computed_next"}) {}

  void print(const Why& why) {
    const RankStatistics& mean = why.summary.mean;
    const bool known = why.summary.knows_waiting;
    time("duration", why.summary.range.length_s());
    time("computation", mean.computation_s);
    time("communication", mean.communication_s);
    time("exposed", mean.exposed_s);
    if (known) time("exposed transfer", mean.exposed_transfer_s());
    if (known) time("exposed waiting", mean.exposed_waiting_s);
    if (known) time("exposed bubble", mean.exposed_bubble_s);
    time("copy", mean.copy_s);
    time("host", mean.host_s);
    time("idle", mean.idle_s);
    for (const PathPart& part : why.path) {
      row("critical path", part_name(part), {}, static_cast<std::int64_t>(part.steps),
          part.seconds);
    }
    for (const ExposedOp& op : why.exposed) {
      const Cell late = op.late ? Cell(std::int64_t{op.late->rank}) : Cell();
      const Cell ran = op.late ? text_cell(op.late->ran) : Cell();
      row("exposed", op_and_place(op.sample), {}, {}, op.exposed_s, optional_cell(op.waiting_s),
          late, ran, text_cell(op.next));
    }
    for (const Lateness& late : why.late) {
      row("waited for", fmt::format("rank {}", late.rank), std::int64_t{late.rank},
          std::int64_t{late.times_last}, late.caused_s, late.waiting_s);
    }
    writer_.finish();
  }

 private:
  void time(const char* what, double seconds) { row("time", what, {}, {}, seconds); }
  void row(const char* about, const std::string& what, const Cell& rank, const Cell& count,
           double seconds, const Cell& waiting_s = {}, const Cell& late = {}, const Cell& ran = {},
           const Cell& next = {}) {
    const double length_s = timeline_.extent.length_s();
    writer_.row({timeline_.info.id, std::string(about), what, rank, count, seconds,
                 length_s > 0 ? Cell(seconds / length_s) : Cell(), waiting_s, late, ran, next});
  }

  const Timeline& timeline_;
  RowWriter writer_;
};

void print_differences(const Differences& found, Style style) {
  RowWriter writer(stdout, style, {"about", "what", "first_s", "second_s", "difference_s"});
  writer.row({"time", "duration", found.first_s, found.first_s + found.total_s, found.total_s});
  for (const PartDifference& part : found.parts) {
    writer.row({"kind", part.name, part.first_s, part.second_s, part.difference_s()});
  }
  for (const OpDifference& op : found.ops) {
    writer.row({"op", op_and_place(op.op), op.first_s, op.second_s, op.difference_s()});
  }
  writer.finish();
}

int print_why(const WhyArguments& arguments) {
  const auto connection = open_reader(arguments.path);
  const std::vector<Timeline> timelines = asked_for(connection, arguments);
  const Style style = arguments.output.style(stdout);
  const bool in_words = style.format == Format::table;
  for (const Timeline& timeline : timelines) {
    const Why found = why(timeline, all_ranks_together(connection, timeline.info));
    if (in_words) {
      print_paragraphs(exposure_text(timeline, timeline_name(timeline.info), found));
      print_paragraphs(path_and_late_text(found));
    }
    if (timelines.size() == 1) WhyRows(style, timeline).print(found);
  }
  if (timelines.size() == 2) {
    const Differences found = differences(timelines[0], timelines[1]);
    if (in_words) print_paragraphs({difference_text(found)});
    print_differences(found, style);
  }
  return kExitDone;
}

}  // namespace

void add_timeline_commands(CLI::App& app, std::function<int()>& action) {
  const auto arguments = std::make_shared<WhyArguments>();
  CLI::App* command = app.add_subcommand(
      "why", "say why an iteration took as long as it did, or two of them differ");
  options::add_database(*command, arguments->path, "the database to read");
  command->get_option("--db")->required();
  options::add_output(*command, arguments->output);
  const auto add = [&](const char* name, std::vector<std::int64_t>& ids, const char* about) {
    command->add_option(name, ids, about)->type_name("ID")->group(kTimelines);
  };
  add("--timeline", arguments->timelines, "this timeline");
  add("--run", arguments->runs, "the iteration of median duration of this run");
  add("--trial", arguments->trials, "the one nearest to the figure of this trial, of all repeats");
  options::set_footer(*command,
                      "moe-db why --db results.db --trial 3\n"
                      "moe-db why --db results.db --trial 3 --trial 5",
                      "Times are means over ranks; under \"waited for\", sums over the ranks "
                      "that waited. Exposed: a rank communicated and computed nothing; it "
                      "transferred, waited for a late rank of its pipeline stage, or for another "
                      "stage (bubble). Of two timelines: what the second has more or less. Of runs "
                      "and trials, measured iterations count before predictions.");
  command->callback([arguments, command, &action] {
    for (const CLI::Option* option : command->parse_order()) {
      if (option->get_group() == kTimelines) arguments->order.push_back(option->get_name());
    }
    const std::size_t asked = arguments->order.size();
    if (asked == 0 || asked > 2) {
      throw CLI::ValidationError(
          fmt::format("{} timelines: expected one or two of --timeline, --run, --trial", asked));
    }
    action = [arguments] { return print_why(*arguments); };
  });
}

}  // namespace db
