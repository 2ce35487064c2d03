#include "db/compared_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/statement.h"

namespace db {
namespace {

/// Of the logarithms of times.
struct LogMoments {
  double mean = 0;
  double variance_of_mean = 0;  // 0 where there is one value
};

LogMoments moments_of(const std::vector<double>& times) {
  LogMoments moments;
  const auto count = static_cast<double>(times.size());
  for (const double time : times) moments.mean += std::log(time) / count;
  if (times.size() < 2) return moments;
  for (const double time : times) {
    const double off = std::log(time) - moments.mean;
    moments.variance_of_mean += off * off / (count - 1) / count;
  }
  return moments;
}

/// Welch's degrees of freedom, rounded down; at least 1.
int degrees_of(const LogMoments& a, std::size_t count_a, const LogMoments& b, std::size_t count_b) {
  const double sum = a.variance_of_mean + b.variance_of_mean;
  const double parts = a.variance_of_mean * a.variance_of_mean / static_cast<double>(count_a - 1) +
                       b.variance_of_mean * b.variance_of_mean / static_cast<double>(count_b - 1);
  if (!(parts > 0)) return static_cast<int>(count_a + count_b - 2);
  return std::max(1, static_cast<int>(sum * sum / parts));
}

using Candidate = std::pair<std::string, std::string>;  // planner, parameters

struct MeasuredTrial {
  Candidate candidate;
  std::vector<double> repeats_s;
};

Study study_named(const Connection& connection, const std::string& name) {
  auto study = find_study(connection, name);
  if (study) return std::move(*study);
  throw Error(ErrorKind::not_found, fmt::format("{}: no study {}", connection.path(), name));
}

std::vector<MeasuredTrial> measured_trials(const Connection& connection, const std::string& study) {
  std::vector<MeasuredTrial> trials;
  for (const Trial& trial : load_trials(connection, study_named(connection, study).id)) {
    MeasuredTrial measured{{trial.planner, trial.parameters_json}, {}};
    for (const TrialRepeat& repeat : load_trial_repeats(connection, trial.id)) {
      if (repeat.measured_s > 0) measured.repeats_s.push_back(repeat.measured_s);
    }
    if (!measured.repeats_s.empty()) trials.push_back(std::move(measured));
  }
  return trials;
}

}  // namespace

ComparedTrial compare_repeats(const std::vector<double>& first, const std::vector<double>& second) {
  ComparedTrial compared;
  compared.first_repeats = static_cast<int>(first.size());
  compared.second_repeats = static_cast<int>(second.size());
  const LogMoments a = moments_of(first), b = moments_of(second);
  if (!first.empty()) compared.first_s = std::exp(a.mean);
  if (!second.empty()) compared.second_s = std::exp(b.mean);
  if (first.empty() || second.empty()) {
    compared.verdict = first.empty() ? "only in the second" : "only in the first";
    return compared;
  }
  const double difference = b.mean - a.mean;
  compared.ratio = std::exp(difference);
  if (first.size() < 2 || second.size() < 2) {
    compared.verdict = "one repeat";
    return compared;
  }
  const double half = student_t(degrees_of(a, first.size(), b, second.size())) *
                      std::sqrt(a.variance_of_mean + b.variance_of_mean);
  compared.least_ratio = std::exp(difference - half);
  compared.most_ratio = std::exp(difference + half);
  compared.verdict = *compared.least_ratio > 1  ? "slower"
                     : *compared.most_ratio < 1 ? "faster"
                                                : "not told apart";
  return compared;
}

std::vector<std::string> differences_between(const Connection& connection, const std::string& first,
                                             const std::string& second) {
  std::vector<std::string> differences;
  for (const char* column : {"machine_class", "network", "model", "ranks", "layout"}) {
    Statement statement(
        connection, fmt::format("SELECT coalesce((SELECT {0} FROM study_view WHERE study = ?1), "
                                "''), coalesce((SELECT {0} FROM study_view WHERE study = ?2), "
                                "'')",
                                column));
    statement.bind(first, second);
    statement.step();
    const auto of_first = statement.value<std::string>(0);
    const auto of_second = statement.value<std::string>(1);
    if (of_first == of_second) continue;
    const auto shown = [](const std::string& text) { return text.empty() ? "not known" : text; };
    differences.push_back(fmt::format("{} of {}: {}, of {}: {}", column, first, shown(of_first),
                                      second, shown(of_second)));
  }
  return differences;
}

std::vector<ComparedTrial> compare_studies(const Connection& connection, const std::string& first,
                                           const std::string& second) {
  std::vector<MeasuredTrial> trials = measured_trials(connection, first);
  std::map<Candidate, std::vector<double>> others;
  std::vector<Candidate> order;
  for (const MeasuredTrial& trial : trials) order.push_back(trial.candidate);
  for (MeasuredTrial& trial : measured_trials(connection, second)) {
    if (std::ranges::find(order, trial.candidate) == order.end()) order.push_back(trial.candidate);
    others[trial.candidate] = std::move(trial.repeats_s);
  }
  std::vector<ComparedTrial> compared;
  for (const Candidate& candidate : order) {
    const auto mine = std::ranges::find(trials, candidate, &MeasuredTrial::candidate);
    ComparedTrial& one = compared.emplace_back(compare_repeats(
        mine == trials.end() ? std::vector<double>{} : mine->repeats_s, others[candidate]));
    one.planner = candidate.first;
    one.parameters = candidate.second;
  }
  return compared;
}

}  // namespace db
