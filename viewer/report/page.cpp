#include "viewer/report/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/trial_figures.h"
#include "viewer/model/trial_list.h"
#include "viewer/report/findings.h"
#include "viewer/report/html.h"

namespace viewer {

namespace {

constexpr int kDigitsOfTimes = 3;
constexpr std::size_t kMostBars = 40;

std::string short_time(const std::optional<double>& seconds) {
  return seconds ? duration_text(*seconds, kDigitsOfTimes) : "";
}

std::string short_bytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? bytes_text(static_cast<double>(*bytes)) : "";
}

bool was_measured(const TrialFacts& trial) {
  return trial.row->trial.status == "done" && trial.row->trial.measured_s.value_or(0) > 0;
}

std::string exposed_card(const Summary& summary) {
  const double length_s = summary.range.length_s();
  const db::RankStatistics& mean = summary.mean;
  std::string name = "of the iteration is exposed communication";
  if (summary.knows_waiting) {
    name +=
        fmt::format(": {} transfer, {} waiting", percent_text(mean.exposed_transfer_s() / length_s),
                    percent_text(mean.exposed_waiting_s / length_s));
    if (mean.exposed_bubble_s > 0) {
      name += fmt::format(", {} bubble", percent_text(mean.exposed_bubble_s / length_s));
    }
  }
  return figure_card(percent_text(mean.exposed_s / length_s), name);
}

// The figures that a reader looks for first.
std::string key_figures(const StudyFacts& facts) {
  if (facts.best == nullptr) return "";
  const TrialRow& row = *facts.best->row;
  const db::Trial& trial = row.trial;
  std::string cards = figure_card(short_time(trial.measured_s), "an iteration (median)");
  if (row.figures.speedup && facts.against != nullptr) {
    cards += figure_card(fmt::format("{:.2f}x", *row.figures.speedup),
                         "as fast as " + facts.against->row->trial.planner);
  }
  if (const auto bound = bound_of(row)) {
    cards +=
        bound->is_broken
            ? figure_card(short_time(bound->seconds), "lower bound, which iterations broke", true)
            : figure_card(fmt::format("{:.2f}x", *trial.measured_s / bound->seconds),
                          "the lower bound of " + short_time(bound->seconds));
  }
  if (facts.best_measured != nullptr) cards += exposed_card(facts.best_measured->summary);
  if (facts.quality) {
    cards += figure_card(percent_text(facts.quality->mean_error), "mean error of the predictions");
  }
  if (trial.measured_peak_bytes) {
    cards += figure_card(short_bytes(trial.measured_peak_bytes), "peak memory of a rank");
  }
  return fmt::format("<dl class=\"figures\">\n{}</dl>\n", cards);
}

// Places on a track whose right end is `most_s`, as percent.
struct Track {
  double most_s = 1;

  double at(double seconds) const { return std::clamp(100 * seconds / most_s, 0.0, 100.0); }
  std::string piece(const char* kind, double from_s, double to_s) const {
    return fmt::format("<i class=\"{}\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>", kind,
                       at(from_s), at(to_s) - at(from_s));
  }
  std::string line(const char* kind, double at_s) const {
    return fmt::format("<i class=\"{}\" style=\"left:{:.2f}%\"></i>", kind, at(at_s));
  }
};

std::string bar_row(const TrialFacts& facts, bool best, const Track& track) {
  const db::Trial& trial = facts.row->trial;
  std::string pieces = track.piece(best ? "bar best" : "bar", 0, *trial.measured_s);
  if (facts.spread && facts.spread->repeats > 1) {
    pieces += track.piece("spread", facts.spread->least_s, facts.spread->most_s);
  }
  if (trial.predicted_s && trial.predicted_deviation_s) {
    pieces += track.piece("deviation", *trial.predicted_s - *trial.predicted_deviation_s,
                          *trial.predicted_s + *trial.predicted_deviation_s);
  }
  if (trial.predicted_s) pieces += track.line("predicted", *trial.predicted_s);
  if (const auto bound = bound_of(*facts.row)) pieces += track.line("bound", bound->seconds);
  return fmt::format(
      "<div class=\"name\">{} <span class=\"muted\">{}</span></div>"
      "<div class=\"track\">{}</div><div class=\"value\">{}</div>\n",
      html_escaped(trial.planner), html_escaped(parameters_text(trial.parameters_json)), pieces,
      html_escaped(short_time(trial.measured_s)));
}

std::string bars(const StudyFacts& facts) {
  Track track;
  double most_s = 0;
  std::string rows;
  std::size_t shown = 0;
  for (const TrialFacts& trial : facts.trials) {
    if (!was_measured(trial)) continue;
    most_s =
        std::max({most_s, *trial.row->trial.measured_s, trial.row->trial.predicted_s.value_or(0),
                  trial.spread ? trial.spread->most_s : 0});
  }
  if (most_s <= 0) return "";
  track.most_s = most_s * 1.02;
  for (const TrialFacts& trial : facts.trials) {
    if (!was_measured(trial) || shown++ >= kMostBars) continue;
    rows += bar_row(trial, &trial == facts.best, track);
  }
  return fmt::format(
      "<h2>Time of an iteration</h2>\n<div class=\"bars\">\n{}</div>\n"
      "<p class=\"key\"><span><i style=\"background:var(--bar)\"></i>measured, with the range of "
      "its repeats as a line</span><span><i style=\"background:var(--predicted);width:3px\"></i>"
      "predicted, with its deviation below</span><span><i style=\"border-left:2px dashed "
      "var(--bound);width:3px\"></i>lower bound</span></p>\n",
      rows);
}

constexpr std::array kTrialColumns = {"schedule",  "status",     "paper",    "first predicted",
                                      "its error", "predicted",  "measured", "bound",
                                      "speed-up",  "peak memory"};

HtmlRow trial_table_row(const TrialFacts& facts, bool best) {
  const db::Trial& trial = facts.row->trial;
  const std::string parameters = parameters_text(trial.parameters_json);
  std::string status = trial.status;
  std::replace(status.begin(), status.end(), '_', ' ');
  const auto bound = bound_of(*facts.row);
  const std::optional<double> speedup = facts.row->figures.speedup;
  return {
      {trial.planner + (parameters.empty() ? "" : ", " + parameters), status,
       short_time(trial.paper_s), short_time(first_prediction_of(trial)),
       prediction_error_text(trial), short_time(trial.predicted_s), short_time(trial.measured_s),
       bound ? short_time(bound->seconds) : "", speedup ? fmt::format("{:.2f}x", *speedup) : "",
       short_bytes(trial.measured_peak_bytes ? trial.measured_peak_bytes
                                             : trial.predicted_peak_bytes)},
      best};
}

std::string trial_table(const StudyFacts& facts) {
  if (facts.trials.empty()) return "";
  std::vector<HtmlRow> rows;
  const auto is_planned = [](const TrialFacts& trial) {
    return trial.row->trial.status == "planned";
  };
  // Where nothing was trained yet, plans are all there is.
  const bool lists_planned = std::all_of(facts.trials.begin(), facts.trials.end(), is_planned);
  std::size_t planned = 0;
  for (const TrialFacts& trial : facts.trials) {
    if (is_planned(trial) && !lists_planned) {
      ++planned;
    } else {
      rows.push_back(trial_table_row(trial, &trial == facts.best));
    }
  }
  const std::string rest = planned == 0
                               ? ""
                               : fmt::format(
                                     "<p class=\"muted\">{} more {} predicted only: trials.csv has "
                                     "them.</p>\n",
                                     planned, planned == 1 ? "was" : "were");
  return "<h2>Schedules</h2>\n" + html_table(kTrialColumns, rows) + rest;
}

std::string words(const StudyFacts& facts) {
  std::string text;
  for (const Finding& finding : findings(facts)) {
    text += fmt::format("<h2>{}</h2>\n", html_escaped(finding.heading));
    for (const std::string& paragraph : finding.paragraphs) {
      text += fmt::format("<p>{}</p>\n", html_escaped(paragraph));
    }
  }
  return text;
}

std::string figures(const std::vector<Picture>& pictures) {
  std::string text = "<section class=\"pictures\">\n<h2>Pictures</h2>\n";
  for (const Picture& picture : pictures) text += html_figure(picture);
  return text + "</section>\n";
}

// What was measured, and where.
std::string origin(const StudyFacts& facts) {
  std::vector<std::string> parts = {
      fmt::format("{} rank{}", facts.study.ranks, facts.study.ranks == 1 ? "" : "s")};
  const std::string divided = divided_text(facts.study.layout);
  if (!divided.empty()) parts.push_back("layout " + divided);
  if (!facts.device.empty()) parts.push_back(facts.device);
  if (!facts.machine.hostname.empty()) parts.push_back(facts.machine.hostname);
  if (!facts.machine.cpu.empty()) parts.push_back(facts.machine.cpu);
  if (!facts.machine.gpu.empty()) parts.push_back(facts.machine.gpu);
  if (!facts.network.empty()) parts.push_back("network " + facts.network);
  if (facts.study.created_at > 0) parts.push_back(instant_text(facts.study.created_at));
  return fmt::format("{}", fmt::join(parts, " \u00b7 "));
}

}  // namespace

std::string report_page(const StudyFacts& facts, const std::vector<Picture>& pictures,
                        const std::vector<CsvTable>& tables, const std::string& database) {
  std::string body = fmt::format(
      "<p class=\"over\">moelab study</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n"
      "<p class=\"muted\">{}</p>\n",
      html_escaped(facts.study.name), html_escaped(headline(facts)), html_escaped(origin(facts)));
  body += key_figures(facts) + bars(facts) + words(facts) + trial_table(facts) + figures(pictures) +
          table_links(tables);
  body += fmt::format(
      "<footer>Written by moe-view from {}{}. Iterations are medians, bounds are for computation "
      "as slow as in the trial's repeats, speed-ups are those of trial_view; \u201cequal\u201d: as "
      "if both sides had computed equally fast. Errors are (predicted - measured) / measured of "
      "the first prediction.</footer>\n",
      html_escaped(std::filesystem::path(database).filename().string()),
      facts.revision.empty() ? "" : html_escaped(", measured with revision " + facts.revision));
  return html_page(facts.study.name + ": moelab study", body);
}

}  // namespace viewer
