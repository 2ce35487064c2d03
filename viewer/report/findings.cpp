#include "viewer/report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "db/planned_by_refinement.h"
#include "db/timeline/timeline_text.h"
#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/trial_figures.h"
#include "viewer/model/trial_list.h"

namespace viewer {

namespace {

constexpr int kDigits = 3;

std::string time_text(double seconds) { return duration_text(seconds, kDigits); }

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string schedule_name(const TrialFacts& trial) {
  const std::string parameters = parameters_text(trial.row->trial.parameters_json);
  const std::string& planner = trial.row->trial.planner;
  return parameters.empty() ? planner : fmt::format("{} ({})", planner, parameters);
}

std::size_t measured_count(const StudyFacts& facts) {
  return static_cast<std::size_t>(
      std::count_if(facts.trials.begin(), facts.trials.end(), [](const TrialFacts& trial) {
        return trial.row->trial.status == "done" && trial.row->trial.measured_s;
      }));
}

double measured_s(const TrialFacts& trial) { return *trial.row->trial.measured_s; }

std::string repeats_text(const TrialFacts& trial) {
  const Spread& spread = *trial.spread;
  if (spread.repeats < 2) return fmt::format("was measured once ({})", time_text(spread.least_s));
  return fmt::format("took from {} to {} in {} repeats", time_text(spread.least_s),
                     time_text(spread.most_s), spread.repeats);
}

Finding speed_up(const StudyFacts& facts) {
  Finding finding{"The speed-up and its spread", {}};
  const TrialFacts& best = *facts.best;
  const TrialRow& row = *best.row;
  if (best.spread) {
    std::string spread = fmt::format("{} {}", schedule_name(best), repeats_text(best));
    if (facts.against != nullptr && facts.against->spread) {
      spread += fmt::format("; {} {}", schedule_name(*facts.against), repeats_text(*facts.against));
      if (const auto& least = row.figures.least_speedup, &most = row.figures.most_speedup;
          least && most) {
        spread += fmt::format(
            ". In the turns that both had, the speed-up lies between {:.2f}x and {:.2f}x (95%)",
            *least, *most);
      }
    }
    finding.paragraphs.push_back(spread + ".");
  }
  if (!row.figures.tied_with.empty()) {
    finding.paragraphs.push_back(
        fmt::format("The repeats do not tell it from {}: any of them may be the fastest.",
                    tied_text(row.figures.tied_with)));
  } else if (measured_count(facts) > 1 && best.spread && best.spread->repeats > 1) {
    finding.paragraphs.push_back("The repeats tell it from all other schedules of the study.");
  } else if (measured_count(facts) > 1) {
    finding.paragraphs.push_back(
        "It was not repeated, so nothing says how much of that is noise: moe-tune study --repeats "
        "does.");
  }
  if (!row.figures.changes_results.empty()) {
    const std::string loss = loss_change_text(row.figures);
    finding.paragraphs.push_back(fmt::format(
        "It changes losses and gradients ({}){}.", row.figures.changes_results,
        loss.empty() ? ""
                     : fmt::format("; its last loss differs from the sequential one by {}", loss)));
  }
  return finding;
}

Finding bound(const StudyFacts& facts) {
  Finding finding{"How far from the limit", {}};
  const TrialRow& row = *facts.best->row;
  const TrialBound bound = *bound_of(row);
  const double measured = *row.trial.measured_s;
  if (bound.is_broken) {
    finding.paragraphs.push_back(fmt::format(
        "By the fitted costs no execution of this schedule can take less than {}, but it has {}. "
        "So the costs are too slow for what those iterations met, and how much is left to gain is "
        "not "
        "known.",
        time_text(bound.seconds), bound_text(row)));
  } else {
    finding.paragraphs.push_back(fmt::format(
        "By the fitted costs no execution of this schedule can take less than {}. It was "
        "measured at {}, which is {:.2f} times as long: at most {} of the iteration is left to "
        "gain.",
        time_text(bound.seconds), time_text(measured), measured / bound.seconds,
        percent_text(1 - bound.seconds / measured)));
  }
  if (!row.trial.bounded_by.empty()) {
    finding.paragraphs.push_back(fmt::format(
        "As predicted, what bounds it is {}: only less work there, or work elsewhere, lowers it.",
        bounding_text(row.trial.bounded_by)));
  }
  return finding;
}

std::string judged_order(const db::PredictionQuality& quality) {
  std::string text;
  if (quality.kendall_tau) {
    text = fmt::format(
        "Predictions put the schedules in the measured order with a rank correlation of {:.2f} (1 "
        "is the same order, 0 none in common)",
        *quality.kendall_tau);
  }
  if (quality.regret) {
    text += fmt::format(
        "{} of the schedules that no refinement planned the one that was predicted to be fastest "
        "took {} longer than the fastest",
        text.empty() ? "In the measurement" : ", and", percent_text(*quality.regret));
  }
  return text.empty() ? text : text + ".";
}

// Of trials that were measured and predicted: predicted over measured, minus 1. Those that a
// refinement planned have no first prediction.
std::vector<std::pair<double, const TrialFacts*>> prediction_errors(const StudyFacts& facts) {
  std::vector<std::pair<double, const TrialFacts*>> errors;
  for (const TrialFacts& trial : facts.trials) {
    const db::Trial& of = trial.row->trial;
    if (of.status != "done" || db::is_planned_by_refinement(of)) continue;
    if (const auto error = prediction_error_of(of)) errors.emplace_back(*error, &trial);
  }
  return errors;
}

Finding predictions(const StudyFacts& facts) {
  Finding finding{"How good the predictions were", {}};
  const auto errors = prediction_errors(facts);
  if (errors.empty()) return finding;
  double sum = 0;
  const auto* worst = &errors.front();
  for (const auto& error : errors) {
    sum += std::abs(error.first);
    if (std::abs(error.first) > std::abs(worst->first)) worst = &error;
  }
  const std::string of =
      errors.size() == measured_count(facts)
          ? counted(errors.size(), "measured schedule")
          : fmt::format("{} of the {}, those that no refinement planned,", errors.size(),
                        counted(measured_count(facts), "measured schedule"));
  finding.paragraphs.push_back(fmt::format(
      "The first simulated times of {} were off by {} on average; the worst was {}, by {:+.1f}%.",
      of, percent_text(sum / static_cast<double>(errors.size())), schedule_name(*worst->second),
      worst->first * 100));
  if (!facts.quality) return finding;
  const db::PredictionQuality& quality = *facts.quality;
  const std::string order = judged_order(quality);
  if (!order.empty()) finding.paragraphs.push_back(order);
  if (quality.common_share) {
    finding.paragraphs.push_back(fmt::format(
        "These schedules have an error of {:+.1f}% in common, which makes {} of the mean "
        "square error.{}",
        quality.common_error * 100, percent_text(*quality.common_share),
        quality.within_deviation
            ? fmt::format(" {} of the trials lie within one deviation of their "
                          "prediction.",
                          percent_text(*quality.within_deviation))
            : ""));
  }
  return finding;
}

Finding exposure(const StudyFacts& facts) {
  Finding finding{"What was exposed, and why", {}};
  const TimelineFacts* shown =
      facts.best_measured != nullptr ? facts.best_measured : facts.best_predicted;
  if (shown == nullptr) return finding;
  const std::string name =
      fmt::format("{}, {}", shown->title, db::timeline_name(shown->timeline->info));
  finding.paragraphs = db::exposure_text(*shown->timeline, name, facts.why);
  for (std::string& text : db::path_and_late_text(facts.why)) {
    finding.paragraphs.push_back(std::move(text));
  }
  return finding;
}

std::string item_text(const MemoryItem& item) {
  std::string role = item.role;
  std::replace(role.begin(), role.end(), '_', ' ');
  const std::string name = item.allocation != nullptr ? item.name : role + "s";
  return fmt::format("{} ({})", name, bytes_text(item.bytes));
}

Finding memory(const StudyFacts& facts) {
  Finding finding{"What stood in memory", {}};
  const RankMemory* rank = fullest_rank(facts.memory);
  if (rank == nullptr) return finding;
  const PoolUse& device = rank->device;
  std::string text = fmt::format(
      "Rank {} of this iteration used most: {} at its peak, {} after the begin, of {} that were "
      "set aside",
      rank->rank, bytes_text(device.peak.bytes), time_text(device.peak.at_s),
      bytes_text(device.planned_bytes));
  if (rank->touched_bytes) {
    text += fmt::format("; its training touched {}, as rows that stayed empty were not",
                        bytes_text(*rank->touched_bytes));
  }
  text += fmt::format(". {} of that live over iterations.", bytes_text(device.persistent_bytes));
  if (rank->host.peak.bytes > 0) {
    text +=
        fmt::format(" On the host {} were offloaded at most.", bytes_text(rank->host.peak.bytes));
  }
  finding.paragraphs.push_back(text);
  constexpr std::size_t kMost = 6;
  std::vector<MemoryItem> items = items_at(facts.memory, *rank, device.peak.at_s);
  std::erase_if(items, [](const MemoryItem& item) { return item.pool == db::kHostPool; });
  std::stable_sort(items.begin(), items.end(),
                   [](const MemoryItem& a, const MemoryItem& b) { return a.bytes > b.bytes; });
  std::string largest;
  for (std::size_t i = 0; i < std::min(kMost, items.size()); ++i) {
    largest += (i > 0 ? ", " : "") + item_text(items[i]);
  }
  finding.paragraphs.push_back(fmt::format("The largest at the peak: {}.", largest));
  return finding;
}

// ", 5," where the loads of single experts are stored, else nothing.
std::string fullest_expert(const LoadTable& loads, int iteration, int layer) {
  const auto at = std::find(loads.iterations.begin(), loads.iterations.end(), iteration);
  const auto of = std::find(loads.layers.begin(), loads.layers.end(), layer);
  if (at == loads.iterations.end() || of == loads.layers.end()) return "";
  const auto tokens = [&](int expert) {
    return loads.at(static_cast<std::size_t>(at - loads.iterations.begin()),
                    static_cast<std::size_t>(of - loads.layers.begin()),
                    static_cast<std::size_t>(expert));
  };
  int fullest = 0;
  for (int expert = 1; expert < loads.experts; ++expert) {
    if (tokens(expert) > tokens(fullest)) fullest = expert;
  }
  return fmt::format(", {},", fullest);
}

// Which experts other ranks had too.
std::string placement_text(const LayerRanks& layer) {
  std::string text;
  for (const std::string& line : replica_lines(layer)) text += (text.empty() ? "" : "; ") + line;
  return text.empty() ? text : fmt::format("Replicated there: {}.", text);
}

Finding balance(const StudyFacts& facts) {
  Finding finding{"How even the load was", {}};
  const BalanceTable& table = facts.balances;
  if (table.empty()) return finding;
  const std::size_t last = table.iterations.size() - 1;
  const db::BalanceOverview* worst = least_even(table, last);
  if (worst == nullptr) return finding;
  std::string text = fmt::format(
      "In iteration {} of run {} layer {} was the least even: its fullest expert{} had {:.2f} "
      "times the mean of {} tokens",
      table.iterations[last], facts.loads_run, worst->layer,
      fullest_expert(facts.loads, table.iterations[last], worst->layer), *worst->max_over_mean,
      grouped(mean_tokens(*worst), 0));
  if (worst->asked_max_over_mean && worst->dropped_tokens.value_or(0) > 0) {
    text += fmt::format(" that were kept, and {:.2f} times that of what gates asked for",
                        *worst->asked_max_over_mean);
  }
  if (worst->rank_max_over_mean) {
    text +=
        fmt::format(", its fullest rank {:.2f} times that of a rank", *worst->rank_max_over_mean);
  }
  if (worst->placed_rank_max_over_mean) {
    text += fmt::format(", and {:.2f} times after experts were placed",
                        *worst->placed_rank_max_over_mean);
  }
  finding.paragraphs.push_back(text + ".");
  const std::string placement =
      placement_text(facts.ranks.of(table.iterations[last], worst->layer));
  if (!placement.empty()) finding.paragraphs.push_back(placement);
  if (worst->dropped_tokens.value_or(0) > 0) {
    const auto dropped = static_cast<double>(*worst->dropped_tokens);
    finding.paragraphs.push_back(
        fmt::format("{} of its tokens ({}) were over capacity and dropped.", grouped(dropped, 0),
                    percent_text(dropped / (dropped + static_cast<double>(worst->tokens)))));
  }
  return finding;
}

Finding not_measured(const StudyFacts& facts) {
  Finding finding{"What was not measured", {}};
  std::map<std::string, std::size_t> counts;  // by status
  for (const TrialFacts& trial : facts.trials) {
    const db::Trial& of = trial.row->trial;
    if (of.status == "done") continue;
    ++counts[of.status];
    if (!of.error.empty()) {
      std::string status = of.status;
      std::replace(status.begin(), status.end(), '_', ' ');
      finding.paragraphs.push_back(
          fmt::format("{}: {}. {}", schedule_name(trial), status, of.error));
    }
  }
  if (const auto planned = counts.find("planned"); planned != counts.end()) {
    finding.paragraphs.push_back(fmt::format("{} {} predicted and not trained.",
                                             counted(planned->second, "schedule"),
                                             planned->second == 1 ? "was" : "were"));
  }
  return finding;
}

}  // namespace

std::string headline(const StudyFacts& facts) {
  if (facts.trials.empty()) return "This study has no trials yet.";
  if (facts.best == nullptr) {
    return fmt::format("None of the {} was measured yet.", counted(facts.trials.size(), "trial"));
  }
  const std::string among = counted(measured_count(facts), "measured schedule");
  if (facts.best->row->trial.planner == db::kSequential) {
    return fmt::format("Of {}, none was faster than the sequential one: {} an iteration.", among,
                       time_text(measured_s(*facts.best)));
  }
  std::string text =
      fmt::format("{} is the fastest of {}: {} an iteration", schedule_name(*facts.best), among,
                  time_text(measured_s(*facts.best)));
  if (facts.against != nullptr && facts.best->row->figures.speedup) {
    text += fmt::format(", {:.2f} times as fast as {} ({})", *facts.best->row->figures.speedup,
                        facts.against->row->trial.planner, time_text(measured_s(*facts.against)));
  }
  return text + ".";
}

std::vector<Finding> findings(const StudyFacts& facts) {
  std::vector<Finding> all;
  if (facts.best != nullptr) all.push_back(speed_up(facts));
  if (facts.best != nullptr && bound_of(*facts.best->row)) all.push_back(bound(facts));
  for (Finding& finding : std::vector<Finding>{predictions(facts), exposure(facts), memory(facts),
                                               balance(facts), not_measured(facts)}) {
    all.push_back(std::move(finding));
  }
  std::erase_if(all, [](const Finding& finding) { return finding.paragraphs.empty(); });
  return all;
}

}  // namespace viewer
