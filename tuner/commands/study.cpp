#include <algorithm>
#include <map>

#include "db/format_rows.h"
#include "db/load.h"
#include "db/load_views.h"
#include "moe/source_tree.h"
#include "moe/stop.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"

namespace tuner {

int study(Arguments& arguments, int argc, char** argv) {
  StudyOptions& options = arguments.study;
  const auto path =
      moe::find_input(arguments.scenario.model, moe::source_tree() / "experiments" / "models");
  options.model = moe::load_model(path);
  if (options.job.seed) options.model.seed = *options.job.seed;
  options.job.model = path.string();
  options.job.program = find_moe_train();
  options.job.database = arguments.scenario.database;
  options.job.ranks = arguments.scenario.ranks.value_or(1);
  options.job.layout = arguments.scenario.layout;
  options.memory_limit_bytes = options.job.memory_limit_bytes;
  options.planners = parse_planners(arguments.planners);
  options.argv.assign(argv, argv + argc);
  if (arguments.top == "all") {
    options.top = 0;
  } else {
    options.top = std::stoi(arguments.top);
  }
  options.say = [](const std::string& text) { warn(text); };
  moe::stop_when_asked();
  const std::int64_t id = run_study(options);

  const db::Connection connection = db::open_reader(options.job.database);
  auto trials = db::load_trials(connection, id);
  const std::map<std::int64_t, double> speedups = db::load_speedups(connection);
  std::stable_sort(trials.begin(), trials.end(), [](const db::Trial& a, const db::Trial& b) {
    const auto key = [](const db::Trial& t) {
      return std::pair(t.measured_s.value_or(1e300), t.predicted_s.value_or(1e300));
    };
    return key(a) < key(b);
  });
  const auto optional = [](const auto& value) { return value ? db::Cell(*value) : db::Cell(); };
  db::RowWriter writer(stdout, style_of(arguments),
                       {"planner", "parameters", "status", "paper_s", "predicted_s", "measured_s",
                        "prediction_error", "lower_bound_s", "speedup", "predicted_peak_bytes",
                        "measured_peak_bytes"});
  for (const db::Trial& trial : trials) {
    const bool measured = trial.measured_s && trial.predicted_s;
    writer.row({trial.planner, trial.parameters_json, trial.status, optional(trial.paper_s),
                optional(trial.predicted_s), optional(trial.measured_s),
                measured ? db::Cell(*trial.predicted_s / *trial.measured_s - 1) : db::Cell(),
                optional(trial.lower_bound_s),
                speedups.contains(trial.id) ? db::Cell(speedups.at(trial.id)) : db::Cell(),
                optional(trial.predicted_peak_bytes), optional(trial.measured_peak_bytes)});
  }
  writer.finish();
  return 0;
}

}  // namespace tuner
