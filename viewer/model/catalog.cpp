#include "viewer/model/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "db/timeline/typical.h"
#include "viewer/model/format.h"

namespace viewer {

namespace {

bool is_repeat_of(const TrialRow& trial, std::int64_t run_id) {
  return std::find(trial.runs.begin(), trial.runs.end(), run_id) != trial.runs.end();
}

bool belongs_to(const db::TimelineInfo& timeline, const TrialRow& trial) {
  return timeline.trial_id == trial.trial.id ||
         (timeline.run_id && is_repeat_of(trial, *timeline.run_id));
}

// The index of a timeline's trial in the catalog's list; the end of the list where it has none.
std::size_t trial_place(const Catalog& catalog, const db::TimelineInfo& timeline) {
  const auto found =
      std::find_if(catalog.trials.begin(), catalog.trials.end(),
                   [&](const TrialRow& trial) { return belongs_to(timeline, trial); });
  return static_cast<std::size_t>(found - catalog.trials.begin());
}

const TrialRow* trial_of(const Catalog& catalog, const db::TimelineInfo& timeline) {
  const std::size_t place = trial_place(catalog, timeline);
  return place < catalog.trials.size() ? &catalog.trials[place] : nullptr;
}

int kind_place(const db::TimelineInfo& timeline) {
  return timeline.kind == db::kMeasured ? 0 : timeline.kind == db::kPredicted ? 1 : 2;
}

std::size_t run_place(const Catalog& catalog, const db::TimelineInfo& timeline) {
  const auto found = std::find_if(catalog.runs.begin(), catalog.runs.end(),
                                  [&](const RunRow& run) { return timeline.run_id == run.id; });
  return static_cast<std::size_t>(found - catalog.runs.begin());
}

const db::TimelineInfo* of_trial(const Catalog& catalog, const TrialRow& trial,
                                 const std::string& kind) {
  std::vector<const db::TimelineInfo*> of_kind;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    if (belongs_to(timeline, trial) && timeline.kind == kind) of_kind.push_back(&timeline);
  }
  return db::typical_timeline(std::move(of_kind), trial.trial.measured_s);
}

const db::TimelineInfo* measured_of_run(const Catalog& catalog, std::int64_t run_id) {
  std::vector<const db::TimelineInfo*> measured;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    const bool own = timeline.run_id == run_id && timeline.kind == db::kMeasured;
    if (own) measured.push_back(&timeline);
  }
  return db::typical_timeline(std::move(measured), std::nullopt);
}

const db::TimelineInfo* best_of_trial(const Catalog& catalog, const TrialRow& trial) {
  const db::TimelineInfo* measured = of_trial(catalog, trial, db::kMeasured);
  return measured != nullptr ? measured : of_trial(catalog, trial, db::kPredicted);
}

const TrialRow* sequential_of(const Catalog& catalog, std::int64_t study_id) {
  const auto found =
      std::find_if(catalog.trials.begin(), catalog.trials.end(), [&](const TrialRow& t) {
        return t.trial.study_id == study_id && t.trial.planner == db::kSequential;
      });
  return found == catalog.trials.end() ? nullptr : &*found;
}

std::vector<std::int64_t> ids_of(const std::vector<const db::TimelineInfo*>& timelines) {
  std::vector<std::int64_t> ids;
  for (const db::TimelineInfo* timeline : timelines) {
    const bool known =
        timeline == nullptr || std::find(ids.begin(), ids.end(), timeline->id) != ids.end();
    if (!known) ids.push_back(timeline->id);
  }
  return ids;
}

std::vector<std::int64_t> study_stack(const Catalog& catalog, const std::string& study) {
  for (const TrialRow& fastest : catalog.trials) {  // the list is sorted fastest first
    if (fastest.study != study || best_of_trial(catalog, fastest) == nullptr) continue;
    const TrialRow* sequential = sequential_of(catalog, fastest.trial.study_id);
    const bool alone = sequential == nullptr || sequential == &fastest;
    return ids_of({sequential != nullptr ? best_of_trial(catalog, *sequential) : nullptr,
                   best_of_trial(catalog, fastest),
                   alone ? of_trial(catalog, fastest, db::kPredicted) : nullptr});
  }
  return {};
}

// The study that a run measured a repeat for.
std::optional<std::int64_t> study_of(const Catalog& catalog, std::int64_t run_id) {
  for (const TrialRow& trial : catalog.trials) {
    if (!is_repeat_of(trial, run_id)) continue;
    for (const RunRow& run : catalog.runs) {
      if (run.kind == "study" && run.name == trial.study) return run.id;
    }
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string parameters_text(const std::string& json) {
  const nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parsed.is_object()) return json;
  const auto value_text = [](const nlohmann::ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  constexpr std::string_view kForward = "forward_", kBackward = "backward_";
  std::string text;
  for (const auto& [name, value] : parsed.items()) {
    std::string words = name, shown = value_text(value);
    if (name.starts_with(kForward)) {
      const auto pair = parsed.find(std::string(kBackward).append(name, kForward.size()));
      if (pair != parsed.end())
        words.erase(0, kForward.size()), shown += fmt::format("/{}", value_text(*pair));
    } else if (name.starts_with(kBackward)) {
      if (parsed.contains(std::string(kForward).append(name, kBackward.size()))) continue;
    }
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words, shown);
  }
  return text;
}

std::string tied_text(const std::string& tied_with) {
  std::string text;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= tied_with.size(); ++i) {
    const char c = i < tied_with.size() ? tied_with[i] : ',';
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    const std::string name = tied_with.substr(begin, i - begin);
    const std::size_t brace = std::min(name.find(" {"), name.size());
    const std::string parameters =
        brace < name.size() ? parameters_text(name.substr(brace + 1)) : std::string();
    if (!text.empty()) text += "; ";
    text += name.substr(0, brace);
    if (!parameters.empty()) text += fmt::format(" ({})", parameters);
    begin = std::min(i + 2, tied_with.size());
  }
  return text;
}

std::string shown_status(const RunRow& run) {
  constexpr double kLongestSilence_s = 600;
  return run.silent_s > kLongestSilence_s ? "silent" : run.status;
}

std::string sign_of_life_text(const RunRow& run) {
  if (run.status != db::kRunning) return "";
  return fmt::format("last sign of life {} ago", long_duration_text(run.silent_s));
}

std::string loss_change_text(const db::TrialFigures& figures) {
  if (figures.changes_results.empty() || !figures.loss_difference) return "";
  return fmt::format("{:+.5f}", *figures.loss_difference);
}

std::string divided_text(const std::string& layout) {
  std::string text;
  std::istringstream degrees(layout);
  for (std::string degree; std::getline(degrees, degree, ',');) {
    if (!degree.ends_with("=1")) text += (text.empty() ? "" : " ") + degree;
  }
  return text;
}

const RunRow* find_run(const Catalog& catalog, std::int64_t run_id) {
  const auto found = std::find_if(catalog.runs.begin(), catalog.runs.end(),
                                  [&](const RunRow& run) { return run.id == run_id; });
  return found == catalog.runs.end() ? nullptr : &*found;
}

const TrialRow* find_trial(const Catalog& catalog, std::int64_t trial_id) {
  const auto found =
      std::find_if(catalog.trials.begin(), catalog.trials.end(),
                   [&](const TrialRow& trial) { return trial.trial.id == trial_id; });
  return found == catalog.trials.end() ? nullptr : &*found;
}

void sort_timelines(Catalog& catalog) {
  using Key = std::tuple<std::size_t, int, std::size_t, int, int, std::int64_t>;
  std::vector<std::pair<Key, std::size_t>> keyed;
  for (std::size_t i = 0; i < catalog.timelines.size(); ++i) {
    const db::TimelineInfo& timeline = catalog.timelines[i];
    const std::size_t trial = trial_place(catalog, timeline);
    const int kind = kind_place(timeline);
    const bool of_trial = trial < catalog.trials.size();
    keyed.push_back({{trial, of_trial ? kind : 0, run_place(catalog, timeline), timeline.iteration,
                      kind, timeline.id},
                     i});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<db::TimelineInfo> sorted;
  for (const auto& [key, index] : keyed) sorted.push_back(std::move(catalog.timelines[index]));
  catalog.timelines = std::move(sorted);
}

std::vector<const db::TimelineInfo*> timelines_of(const Catalog& catalog, std::int64_t run_id) {
  const RunRow* run = find_run(catalog, run_id);
  std::vector<const db::TimelineInfo*> found;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    bool belongs = timeline.run_id == run_id;
    const TrialRow* trial = belongs ? nullptr : trial_of(catalog, timeline);
    if (trial != nullptr) {
      belongs = is_repeat_of(*trial, run_id) ||
                (run != nullptr && run->kind == "study" && run->name == trial->study);
    }
    if (belongs) found.push_back(&timeline);
  }
  return found;
}

std::vector<int> measured_iterations(const Catalog& catalog, std::int64_t run_id) {
  std::vector<int> iterations;
  for (const db::TimelineInfo& timeline : catalog.timelines) {
    const bool own = timeline.run_id == run_id && timeline.kind == db::kMeasured;
    if (own) iterations.push_back(timeline.iteration);
  }
  std::sort(iterations.begin(), iterations.end());
  return iterations;
}

std::vector<std::int64_t> default_stack(const Catalog& catalog, std::int64_t run_id) {
  const RunRow* run = find_run(catalog, run_id);
  if (run != nullptr && run->kind == "study") {
    std::vector<std::int64_t> stack = study_stack(catalog, run->name);
    if (!stack.empty()) return stack;
  }
  const db::TimelineInfo* measured = measured_of_run(catalog, run_id);
  const db::TimelineInfo* predicted = nullptr;
  const db::TimelineInfo* other = nullptr;
  for (const db::TimelineInfo* timeline : timelines_of(catalog, run_id)) {
    if (timeline->kind == db::kMeasured) {
      // Of a repeat without a timeline of its own, another one of the same trial.
      if (measured == nullptr) measured = timeline;
    } else if (timeline->kind == db::kPredicted) {
      predicted = timeline;
    } else {
      other = timeline;
    }
  }
  return ids_of({measured, predicted, other});
}

std::vector<std::int64_t> trial_stack(const Catalog& catalog, std::int64_t trial_id) {
  const TrialRow* trial = find_trial(catalog, trial_id);
  if (trial == nullptr) return {};
  const db::TimelineInfo* measured = of_trial(catalog, *trial, db::kMeasured);
  const db::TimelineInfo* predicted = of_trial(catalog, *trial, db::kPredicted);
  const TrialRow* sequential = sequential_of(catalog, trial->trial.study_id);
  if (sequential == nullptr || sequential == trial) return ids_of({measured, predicted});
  return ids_of({best_of_trial(catalog, *sequential), measured, predicted});
}

std::optional<std::int64_t> first_run(const Catalog& catalog) {
  for (const RunRow& run : catalog.runs) {
    if (default_stack(catalog, run.id).empty()) continue;
    return study_of(catalog, run.id).value_or(run.id);
  }
  if (catalog.runs.empty()) return std::nullopt;
  return catalog.runs.front().id;
}

std::int64_t run_with_loads(const Catalog& catalog, std::int64_t run_id) {
  const RunRow* run = find_run(catalog, run_id);
  if (run == nullptr || run->kind != "study") return run_id;
  for (const TrialRow& fastest : catalog.trials) {  // the list is sorted fastest first
    if (fastest.study == run->name && !fastest.runs.empty()) return fastest.runs.back();
  }
  return run_id;
}

std::string timeline_title(const Catalog& catalog, const db::TimelineInfo& timeline) {
  if (const TrialRow* trial = trial_of(catalog, timeline)) {
    const std::string parameters = parameters_text(trial->trial.parameters_json);
    return trial->trial.planner + (parameters.empty() ? "" : ", " + parameters);
  }
  const RunRow* run = timeline.run_id ? find_run(catalog, *timeline.run_id) : nullptr;
  if (run != nullptr && !(run->name + run->planner).empty()) {
    return run->planner + (run->planner.empty() || run->name.empty() ? "" : ", ") + run->name;
  }
  return timeline.label.empty() ? fmt::format("timeline {}", timeline.id) : timeline.label;
}

std::string timeline_source(const Catalog& catalog, const db::TimelineInfo& timeline) {
  const bool predicted = timeline.kind == db::kPredicted;
  const bool of_trial = trial_of(catalog, timeline) != nullptr;
  if (!timeline.run_id || (predicted && of_trial)) return "";
  std::string source = fmt::format("run {}", *timeline.run_id);
  const RunRow* run = find_run(catalog, *timeline.run_id);
  if (!of_trial && run != nullptr && run->schedule_id) {
    source += fmt::format(", schedule {}", *run->schedule_id);
  }
  if (!predicted) source += fmt::format(", iteration {}", timeline.iteration);
  // Nobody must take a paced network for one of real cards.
  if (run != nullptr && run->network.starts_with("paced")) source += ", " + run->network;
  return source;
}

const db::TimelineInfo* measured_beside(const Catalog& catalog, const db::TimelineInfo& timeline) {
  if (timeline.kind != db::kPredicted) return nullptr;
  if (const TrialRow* trial = trial_of(catalog, timeline)) {
    return of_trial(catalog, *trial, db::kMeasured);
  }
  return timeline.run_id ? measured_of_run(catalog, *timeline.run_id) : nullptr;
}

const db::TimelineInfo* compared_with(const Catalog& catalog, const db::TimelineInfo& timeline) {
  if (timeline.kind != db::kMeasured) return measured_beside(catalog, timeline);
  if (const TrialRow* trial = trial_of(catalog, timeline)) {
    return of_trial(catalog, *trial, db::kPredicted);
  }
  for (const db::TimelineInfo& other : catalog.timelines) {
    const bool own = timeline.run_id && other.run_id == timeline.run_id;
    if (own && other.kind == db::kPredicted) return &other;
  }
  return nullptr;
}

std::string trial_text(const TrialRow& trial) {
  if (!trial.trial.measured_s) return "";
  std::string text = "trial " + duration_text(*trial.trial.measured_s, 3);
  const db::TrialFigures& figures = trial.figures;
  if (figures.repeats > 1 && figures.min_repeat_s && figures.max_repeat_s) {
    text += fmt::format(" ({} to {} in {} repeats)", duration_text(*figures.min_repeat_s, 3),
                        duration_text(*figures.max_repeat_s, 3), figures.repeats);
  }
  return text;
}

std::string comparison_text(const Catalog& catalog, const db::TimelineInfo& timeline) {
  const TrialRow* trial = trial_of(catalog, timeline);
  if (timeline.kind == db::kPredicted && trial != nullptr) {
    const double measured_s = trial->trial.measured_s.value_or(0);
    if (!(measured_s > 0)) return "";
    return fmt::format("{:+.1f}% against the {}", (timeline.duration_s / measured_s - 1) * 100,
                       trial_text(*trial));
  }
  if (const db::TimelineInfo* measured = measured_beside(catalog, timeline)) {
    if (!(measured->duration_s > 0)) return "";
    return fmt::format("{:+.1f}% against {} measured in {}",
                       (timeline.duration_s / measured->duration_s - 1) * 100,
                       duration_text(measured->duration_s, 3), timeline_source(catalog, *measured));
  }
  if (timeline.kind != db::kMeasured || trial == nullptr || !trial->trial.measured_s) return "";
  std::string text = trial_text(*trial);
  if (!trial->figures.speedup) return text;
  const std::string loss = loss_change_text(trial->figures);
  const std::string& against = trial->figures.speedup_against;
  return text + fmt::format(", speed-up {:.2f}x{}{}", *trial->figures.speedup,
                            against == db::kSequential ? "" : fmt::format(" against {}", against),
                            loss.empty() ? "" : fmt::format(", loss {} to sequential", loss));
}

bool matches(const RunRow& run, const std::string& filter) {
  const std::string texts =
      lower(fmt::format("{} {} {} {} {} {} {} {} {}", run.id, run.kind, run.name, run.planner,
                        run.device, shown_status(run), run.ranks, run.layout, run.network));
  std::istringstream words(lower(filter));
  for (std::string word; words >> word;) {
    if (texts.find(word) == std::string::npos) return false;
  }
  return true;
}

}  // namespace viewer
