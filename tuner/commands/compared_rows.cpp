#include "tuner/commands/compared_rows.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>

#include "db/console/progress.h"
#include "db/records.h"
#include "moe/errors.h"
#include "tuner/commands/printing.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/simulate/timeline_text.h"
#include "tuner/study/prediction.h"
#include "tuner/study/replay.h"

namespace tuner {
namespace {

std::vector<db::Cell> figures_of(const moe::Schedule& schedule, const Prediction& prediction,
                                 const Cluster& cluster, double sequential_s, double planning_s) {
  const Degrees degrees = degrees_of(schedule);
  const double predicted_s = prediction.timeline.duration_s;
  return {std::int64_t{degrees.forward},
          std::int64_t{degrees.backward},
          db::optional_cell(prediction.paper_s),
          predicted_s,
          db::optional_cell(prediction.deviation_s),
          prediction.bound.seconds(),
          sequential_s / predicted_s,
          summarize(prediction.program, prediction.timeline).exposed_s,
          prediction.peak_bytes,
          fits_memory(prediction.peak_bytes, cluster),
          planning_s};
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

Compared row_of(const PlannerRequest& request, const Given* given) {
  Compared row;
  row.planner = request.planner->name;
  if (given) row.given = given->name;
  return row;
}

/// Calls add(request, given) for every request, alone and with each given schedule.
template <class Add>
void for_each_row(const std::vector<PlannerRequest>& requests, const std::vector<Given>& given,
                  const Add& add) {
  db::Progress progress("compare", static_cast<double>(requests.size() * (1 + given.size())));
  double done = 0;
  const auto add_one = [&](const PlannerRequest& request, const Given* one) {
    add(request, one);
    progress.at(++done);
  };
  for (const PlannerRequest& request : requests) add_one(request, nullptr);
  for (const Given& one : given) {
    for (const PlannerRequest& request : requests) add_one(request, &one);
  }
}

class Comparison {
 public:
  Comparison(const Situation& whole, bool all_candidates)
      : whole_(whole), all_candidates_(all_candidates), sequential_s_(sequential_seconds(whole)) {}

  void add(const PlannerRequest& request, const Given* given) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      std::vector<Candidate> candidates = planned(request, given);
      const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - begin;
      for (Candidate& one : candidates) {
        Compared row = row_of(request, given);
        row.planner = one.planner;
        row.parameters_json = std::move(one.parameters_json);
        row.changes = moe::changes_results(one.schedule);
        const Prediction prediction = predict(whole_, *request.planner, one.schedule);
        result_.fits_used.merge(fit_use(whole_.costs, prediction.program, prediction.costs.ops));
        row.figures =
            figures_of(one.schedule, prediction, whole_.cluster, sequential_s_, planning.count());
        if (!all_candidates_ && !fits(prediction)) {
          say_remark(*request.planner, request.options, one.schedule);
        }
        result_.rows.push_back(std::move(row));
      }
    } catch (const moe::Refusal& refusal) {
      add_refusal(request, given, refusal.what());
      if (!result_.first_refusal) result_.first_refusal = std::current_exception();
    }
  }
  ComparedRows take() && { return std::move(result_); }

 private:
  bool fits(const Prediction& prediction) const {
    const std::int64_t limit_bytes = whole_.cluster.memory_bytes;
    return limit_bytes == 0 || prediction.peak_bytes <= limit_bytes;
  }
  void say_remark(const Planner& planner, const PlannerOptions& options,
                  const moe::Schedule& schedule) const {
    if (planner.remark) spdlog::info(planner.remark(whole_, options, schedule));
  }
  void add_refusal(const PlannerRequest& request, const Given* given, std::string reason) {
    Compared row = row_of(request, given);
    row.parameters_json = to_json(request.options);
    row.refusal = std::move(reason);
    result_.rows.push_back(std::move(row));
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
  ComparedRows result_;
};

}  // namespace

ComparedRows compare_planners(const Situation& situation,
                              const std::vector<PlannerRequest>& requests,
                              const std::vector<Given>& given, bool all_candidates) {
  PlanMemory memory;
  Situation remembering = situation;
  remembering.memory = &memory;
  Comparison comparison(remembering, all_candidates);
  for_each_row(requests, given, [&](const PlannerRequest& request, const Given* one) {
    comparison.add(request, one);
  });
  return std::move(comparison).take();
}

ComparedRows replay_planners(const Situation& situation,
                             const std::vector<PlannerRequest>& requests,
                             const std::vector<Given>& given, int plan_every) {
  std::vector<PlanMemory> memories(routings_of(situation).size());
  const Planner& baseline = planner_named(db::kSequential);
  const double sequential_s =
      replay(situation, baseline, plan_every, memories, [&](const Situation& one) {
        return baseline.plan(one, {});
      }).prediction.timeline.duration_s;
  ComparedRows result;
  for_each_row(requests, given, [&](const PlannerRequest& request, const Given* one) {
    Compared row = row_of(request, one);
    row.parameters_json = to_json(request.options);
    std::chrono::duration<double> planning{};
    try {
      const Replay replayed = replay(
          situation, *request.planner, plan_every, memories, [&](const Situation& iteration) {
            const auto begin = std::chrono::steady_clock::now();
            moe::Schedule schedule = own_choice(iteration, request, one).schedule;
            planning += std::chrono::steady_clock::now() - begin;
            return schedule;
          });
      row.changes = moe::changes_results(replayed.schedule);
      result.fits_used.merge(
          fit_use(situation.costs, replayed.prediction.program, replayed.prediction.costs.ops));
      row.figures = figures_of(replayed.schedule, replayed.prediction, situation.cluster,
                               sequential_s, planning.count() / replayed.plans);
    } catch (const moe::Refusal& refusal) {
      row.refusal = refusal.what();
      if (!result.first_refusal) result.first_refusal = std::current_exception();
    }
    result.rows.push_back(std::move(row));
  });
  return result;
}

}  // namespace tuner
