#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/console/format_rows.h"
#include "db/records.h"
#include "moe/errors.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"
#include "tuner/simulate/timeline_text.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

/// A row: the schedule of a planner and its prediction, or the reason why the planner refused.
struct Compared {
  const Planner* planner = nullptr;
  std::string name;
  std::string parameters_json = "{}";
  std::string given;              ///< the name of the --given file that it goes on from
  std::vector<db::Cell> figures;  ///< one for each of kFigures; none where the planner refused
  std::string changes;            ///< the decisions that change results
  std::string refusal;
};
constexpr auto kFigures = std::to_array<const char*>(
    {"forward_chunks", "backward_chunks", "paper_s", "predicted_s", "predicted_deviation_s",
     "lower_bound_s", "predicted_speedup", "exposed_s", "predicted_peak_bytes", "fits_memory"});

std::vector<db::Cell> figures_of(const moe::Schedule& schedule, const Prediction& prediction,
                                 const Cluster& cluster, double sequential_s) {
  const Degrees degrees = degrees_of(schedule);
  const double predicted_s = prediction.timeline.duration_s;
  return {std::int64_t{degrees.forward},
          std::int64_t{degrees.backward},
          optional_cell(prediction.paper_s),
          predicted_s,
          optional_cell(prediction.deviation_s),
          prediction.bound.seconds(),
          sequential_s / predicted_s,
          summarize(prediction.program, prediction.timeline).exposed_s,
          prediction.peak_bytes,
          fits_memory(prediction.peak_bytes, cluster)};
}

double sequential_seconds(const Situation& situation) {
  const Planner& baseline = planner_named(db::kSequential);
  return predict(situation, baseline, baseline.plan(situation, {})).timeline.duration_s;
}

/// The planner's own choice.
Candidate own_choice(const Situation& whole, const PlannerRequest& request, const Given* given) {
  const Planner& planner = *request.planner;
  moe::Schedule schedule = given ? plan_from(*given, planner, request.options, whole)
                                 : plan_with(planner, whole, request.options);
  std::string parameters = parameters_of(planner, request.options, schedule);
  return {std::string(planner.name), std::move(parameters), std::move(schedule)};
}

/// The rows of a request: one for each schedule, and one for each refusal.
class Rows {
 public:
  Rows(const Situation& whole, bool all_candidates)
      : whole_(whole), all_candidates_(all_candidates), sequential_s_(sequential_seconds(whole)) {}

  void add(const PlannerRequest& request, const Given* given) {
    try {
      for (Candidate& one : planned(request, given)) {
        Compared row = row_of(request, given);
        row.name = one.planner;
        row.parameters_json = std::move(one.parameters_json);
        row.changes = moe::changes_results(one.schedule);
        const Prediction prediction = predict(whole_, *row.planner, one.schedule);
        row.figures = figures_of(one.schedule, prediction, whole_.cluster, sequential_s_);
        if (!all_candidates_ && !fits(prediction))
          say_remark(*row.planner, request.options, one.schedule);
        rows_.push_back(std::move(row));
      }
    } catch (const moe::Refusal& refusal) {
      add_refusal(request, given, refusal.what());
      if (!first_) first_ = refusal;
    }
  }
  /// Throws the first refusal where every planner refused.
  const std::vector<Compared>& rows() const {
    const bool any =
        std::ranges::any_of(rows_, [](const Compared& row) { return !row.figures.empty(); });
    if (!any && first_) throw moe::Refusal(*first_);
    return rows_;
  }

 private:
  bool fits(const Prediction& prediction) const {
    const std::int64_t limit_bytes = whole_.cluster.memory_bytes;
    return limit_bytes == 0 || prediction.peak_bytes <= limit_bytes;
  }
  void say_remark(const Planner& planner, const PlannerOptions& options,
                  const moe::Schedule& schedule) const {
    if (planner.remark) spdlog::info(planner.remark(whole_, options, schedule));
  }
  Compared row_of(const PlannerRequest& request, const Given* given) const {
    Compared row;
    row.planner = request.planner;
    row.name = request.planner->name;
    if (given) row.given = given->name;
    return row;
  }
  void add_refusal(const PlannerRequest& request, const Given* given, std::string reason) {
    Compared row = row_of(request, given);
    row.parameters_json = to_json(request.options);
    row.refusal = std::move(reason);
    rows_.push_back(std::move(row));
  }
  std::vector<Candidate> planned(const PlannerRequest& request, const Given* given) {
    if (!all_candidates_) return {own_choice(whole_, request, given)};
    if (!given) return candidates_of(*request.planner, whole_, request.options);
    GivenCandidates all = candidates_of(*request.planner, whole_, request.options, *given);
    for (std::string& reason : all.refused) add_refusal(request, given, std::move(reason));
    return std::move(all.candidates);
  }

  const Situation& whole_;
  const bool all_candidates_;
  const double sequential_s_;
  std::vector<Compared> rows_;
  std::optional<moe::Refusal> first_;
};

std::vector<PlannerRequest> requests_of(const Arguments& arguments) {
  auto requests = parse_planners(arguments.planners);
  for (PlannerRequest& request : requests) {
    request.options.most_chunks = arguments.most_chunks;
    if (!request.planner->measures) continue;
    spdlog::info("{}: chosen by simulation, as nothing is run; a study chooses by running",
                 request.planner->name);
  }
  return requests;
}

bool any_has(const std::vector<Compared>& rows, std::string Compared::*text) {
  return std::ranges::any_of(rows, [&](const Compared& row) { return !(row.*text).empty(); });
}

void print(const std::vector<Compared>& rows, const Arguments& arguments) {
  std::vector<std::string> columns{"planner", "parameters"};
  columns.insert(columns.end(), kFigures.begin(), kFigures.end());
  std::vector<std::pair<const char*, std::string Compared::*>> seldom{
      {"given", &Compared::given},
      {"changes_results", &Compared::changes},
      {"refusal", &Compared::refusal}};
  std::erase_if(seldom, [&](const auto& column) {
    return !shows_column(arguments, any_has(rows, column.second));
  });
  for (const auto& [name, text] : seldom) columns.emplace_back(name);
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const Compared& row : rows) {
    std::vector<db::Cell> cells{row.name, row.parameters_json};
    cells.insert(cells.end(), row.figures.begin(), row.figures.end());
    cells.resize(2 + kFigures.size());
    for (const auto& [name, text] : seldom) cells.push_back(text_cell(row.*text));
    writer.row(cells);
  }
  writer.finish();
}

}  // namespace

int compare(const Arguments& arguments) {
  const std::vector<PlannerRequest> requests = requests_of(arguments);
  const Scenario scenario = load_said(arguments.scenario);
  const Situation situation = scenario.situation();
  Rows rows(situation, arguments.candidates);
  for (const PlannerRequest& request : requests) rows.add(request, nullptr);
  for (const std::string& file : arguments.given) {
    const Given given = load_given(file, scenario.program);
    for (const PlannerRequest& request : requests) rows.add(request, &given);
  }
  print(rows.rows(), arguments);
  return 0;
}

}  // namespace tuner
