#include "viewer/model/trial_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/trial_figures.h"

namespace viewer {

namespace {

constexpr const char* kPlannedStatus = "planned";

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool has_words(const TrialRow& row, const std::string& words) {
  const std::string texts = in_lower_case(
      fmt::format("{} {} {} {} {} {}", row.trial.id, row.study, row.trial.planner,
                  parameters_text(row.trial.parameters_json), row.trial.status, row.layout));
  std::istringstream wanted(in_lower_case(words));
  for (std::string word; wanted >> word;) {
    if (texts.find(word) == std::string::npos) return false;
  }
  return true;
}

std::optional<double> as_double(const std::optional<std::int64_t>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> figure_of(const TrialRow& row, TrialOrder order) {
  const db::Trial& trial = row.trial;
  switch (order) {
    case TrialOrder::paper:
      return trial.paper_s;
    case TrialOrder::predicted:
      return trial.predicted_s;
    case TrialOrder::measured:
      return trial.measured_s;
    case TrialOrder::error:
      return prediction_error_of(trial);
    case TrialOrder::bound:
      if (const auto bound = bound_of(row)) return bound->seconds;
      return std::nullopt;
    case TrialOrder::speedup:
      return row.figures.speedup;
    case TrialOrder::peak:
      return as_double(trial.measured_peak_bytes ? trial.measured_peak_bytes
                                                 : trial.predicted_peak_bytes);
    case TrialOrder::study:
    case TrialOrder::planner:
    case TrialOrder::status:
      break;
  }
  return std::nullopt;
}

const std::string* text_of(const TrialRow& row, TrialOrder order) {
  if (order == TrialOrder::study) return &row.study;
  if (order == TrialOrder::planner) return &row.trial.planner;
  return order == TrialOrder::status ? &row.trial.status : nullptr;
}

}  // namespace

std::vector<const TrialRow*> listed_trials(const Catalog& catalog, const TrialFilter& filter) {
  std::vector<const TrialRow*> listed;
  for (const TrialRow& row : catalog.trials) {
    if (filter.hides_planned && row.trial.status == kPlannedStatus) continue;
    if (!filter.study.empty() && row.study != filter.study) continue;
    if (has_words(row, filter.words)) listed.push_back(&row);
  }
  return listed;
}

bool has_trained(const Catalog& catalog, const std::string& study) {
  return std::any_of(catalog.trials.begin(), catalog.trials.end(), [&](const TrialRow& row) {
    return row.trial.status != kPlannedStatus && (study.empty() || row.study == study);
  });
}

std::size_t hidden_planned(const Catalog& catalog, const TrialFilter& filter) {
  if (!filter.hides_planned) return 0;
  TrialFilter all = filter;
  all.hides_planned = false;
  return listed_trials(catalog, all).size() - listed_trials(catalog, filter).size();
}

std::string hidden_text(std::size_t hidden) {
  if (hidden == 0) return "";
  return fmt::format("{} trial{} only planned and {} hidden", hidden,
                     hidden == 1 ? " was" : "s were", hidden == 1 ? "is" : "are");
}

void sort_trials(std::vector<const TrialRow*>& trials, TrialOrder order, bool descending) {
  const auto before = [&](const TrialRow* a, const TrialRow* b) {
    if (const std::string* text = text_of(*a, order)) {
      return descending ? *text_of(*b, order) < *text : *text < *text_of(*b, order);
    }
    const auto x = figure_of(*a, order), y = figure_of(*b, order);
    if (!x || !y) return x.has_value() && !y.has_value();
    return descending ? *y < *x : *x < *y;
  };
  std::stable_sort(trials.begin(), trials.end(), before);
}

std::optional<double> first_prediction_of(const db::Trial& trial) {
  return trial.first_predicted_s ? trial.first_predicted_s : trial.predicted_s;
}

std::optional<double> prediction_error_of(const db::Trial& trial) {
  const auto first_s = first_prediction_of(trial);
  if (!first_s || !(trial.measured_s.value_or(0) > 0)) return std::nullopt;
  return *first_s / *trial.measured_s - 1;
}

std::string prediction_error_text(const db::Trial& trial) {
  const auto error = prediction_error_of(trial);
  return error ? fmt::format("{:+.1f}%", *error * 100) : "";
}

std::string error_explanation(const db::Trial& trial) {
  const auto first_s = first_prediction_of(trial);
  if (!first_s || first_s == trial.predicted_s || !prediction_error_of(trial)) return "";
  return fmt::format("of the first prediction, {}: costs were fitted to trials since then",
                     duration_text(*first_s, 3));
}

std::optional<TrialCost> cost_of(const TrialRow& row) {
  const db::Trial& trial = row.trial;
  const bool measured = trial.status == "done" && trial.measured_s.has_value();
  const auto seconds = measured ? trial.measured_s : trial.predicted_s;
  const auto bytes = as_double(measured && trial.measured_peak_bytes ? trial.measured_peak_bytes
                                                                     : trial.predicted_peak_bytes);
  if (!seconds || !bytes) return std::nullopt;
  return TrialCost{*seconds, *bytes, measured};
}

std::vector<const TrialRow*> pareto_front(const std::vector<const TrialRow*>& trials) {
  std::vector<const TrialRow*> known;
  for (const TrialRow* row : trials) {
    if (cost_of(*row)) known.push_back(row);
  }
  std::stable_sort(known.begin(), known.end(), [](const TrialRow* a, const TrialRow* b) {
    const TrialCost x = *cost_of(*a), y = *cost_of(*b);
    return x.seconds != y.seconds ? x.seconds < y.seconds : x.bytes < y.bytes;
  });
  std::vector<const TrialRow*> front;
  double least_bytes = std::numeric_limits<double>::infinity();
  for (const TrialRow* row : known) {
    const double bytes = cost_of(*row)->bytes;
    if (bytes >= least_bytes) continue;
    least_bytes = bytes;
    front.push_back(row);
  }
  return front;
}

std::vector<std::string> studies_of(const std::vector<const TrialRow*>& trials) {
  std::vector<std::string> studies;
  for (const TrialRow* row : trials) {
    if (std::find(studies.begin(), studies.end(), row->study) == studies.end()) {
      studies.push_back(row->study);
    }
  }
  return studies;
}

std::string verdict_text(const Catalog& catalog, const std::vector<const TrialRow*>& trials) {
  const auto is_measured = [](const TrialRow& row) {
    return row.trial.status == "done" && row.trial.measured_s.value_or(0) > 0;
  };
  const TrialRow* fastest = nullptr;
  std::ptrdiff_t shown = 0;  // of those that were measured
  for (const TrialRow* row : trials) {
    if (row->study != trials.front()->study) return "";
    if (!is_measured(*row)) continue;
    ++shown;
    if (fastest == nullptr || *row->trial.measured_s < *fastest->trial.measured_s) fastest = row;
  }
  if (fastest == nullptr) return "";
  const bool are_all_shown =
      shown ==
      std::count_if(catalog.trials.begin(), catalog.trials.end(), [&](const TrialRow& row) {
        return row.study == fastest->study && is_measured(row);
      });
  const db::Trial& trial = fastest->trial;
  const std::string parameters = parameters_text(trial.parameters_json);
  std::string text = fmt::format("Fastest{}: {}{}, {}", are_all_shown ? "" : " of those shown",
                                 trial.planner, parameters.empty() ? "" : " (" + parameters + ")",
                                 duration_text(*trial.measured_s, 3));
  const db::TrialFigures& figures = fastest->figures;
  const bool is_compared = figures.speedup && figures.speedup_against != trial.planner;
  if (is_compared) {
    text += fmt::format(", {:.2f}x as fast as {}", *figures.speedup, figures.speedup_against);
  }
  if (const std::string bound = bound_text(*fastest); !bound.empty()) text += ", " + bound;
  if (figures.tied_with.empty()) return text + ".";
  return text + ". Repeats do not tell it from " + tied_text(figures.tied_with) + ".";
}

std::string train_line(const TrialRow& row, const db::Study& study,
                       const std::string& schedule_file) {
  const nlohmann::json model = nlohmann::json::parse(study.model_json, nullptr, false);
  const std::string name = model.is_object() && model.contains("name") && model["name"].is_string()
                               ? model["name"].get<std::string>()
                               : "MODEL";
  const std::string layout =
      row.layout.empty() ? std::string() : fmt::format(" --layout {}", row.layout);
  return fmt::format("moe-train --model {} --ranks {}{} --schedule {}", name, study.ranks, layout,
                     schedule_file);
}

}  // namespace viewer
