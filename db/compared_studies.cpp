#include "db/compared_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "db/console/shown_text.h"
#include "db/console/statistics.h"
#include "db/load.h"
#include "db/network.h"
#include "db/planned_by_refinement.h"
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

/// A study that plans anew comes to the same candidate before a refinement of its costs or after it.
std::string without_refinement(const std::string& parameters) {
  constexpr bool kThrows = false;
  auto json = nlohmann::json::parse(parameters, nullptr, kThrows);
  if (!json.is_object() || json.erase(kRefinement) == 0) return parameters;
  return json.dump();
}

Study study_named(const Connection& connection, const std::string& name) {
  auto study = find_study(connection, name);
  if (study) return std::move(*study);
  throw Error(ErrorKind::not_found, fmt::format("{}: no study {}", connection.path(), name));
}

std::vector<MeasuredTrial> measured_trials(const Connection& connection, const std::string& study) {
  std::vector<MeasuredTrial> trials;
  for (const Trial& trial : load_trials(connection, study_named(connection, study).id)) {
    MeasuredTrial measured{{trial.planner, without_refinement(trial.parameters_json)}, {}};
    if (std::ranges::count(trials, measured.candidate, &MeasuredTrial::candidate) > 0) {
      measured.candidate.second = trial.parameters_json;  // another of the same parameters
    }
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

namespace {

/// What the trials of a study have in common, as text by name; without what is not known.
using StudyFacts = std::map<std::string, std::string>;

std::string fact_of(const nlohmann::json& value) {
  return value.is_string() && value != "" ? value.get<std::string>() : value.dump();
}

void add_model_facts(const Study& study, StudyFacts& facts) {
  constexpr bool kThrows = false;
  constexpr std::string_view kHooks = "hooks";
  const auto model = nlohmann::json::parse(study.model_json, nullptr, kThrows);
  if (!model.is_object()) return;
  for (const auto& [key, value] : model.items()) {
    if (key != kHooks) facts[key == "name" ? "model" : key] = fact_of(value);
  }
  facts[std::string(kHooks)] = model.value(kHooks, nlohmann::json::object()).dump();
}

/// The settings that all trials of a study have in common, which its settings name.
/// `moe-tune study --resume` refuses others.
void add_setting_facts(const Study& study, StudyFacts& facts) {
  constexpr bool kThrows = false;
  const auto settings = nlohmann::json::parse(study.settings_json, nullptr, kThrows);
  if (!settings.is_object()) return;
  for (const auto& key : settings.value("in_common", nlohmann::json::array())) {
    if (!key.is_string() || !settings.contains(key.get<std::string>())) continue;
    facts[key.get<std::string>()] = fact_of(settings[key.get<std::string>()]);
  }
  for (const auto& given : settings.value("given", nlohmann::json::array())) {
    if (!given.is_object() || !given.contains("name") || !given.contains("decisions")) continue;
    facts["given " + fact_of(given["name"])] = fact_of(given["decisions"]);
  }
}

struct StudyNetwork {
  std::string name;
  std::int64_t nodes = 0;
};

StudyNetwork add_place_facts(const Connection& connection, const Study& study, StudyFacts& facts) {
  Statement statement(
      connection,
      "SELECT coalesce(machine_class, ''), coalesce(layout, ''), coalesce(network, ''), "
      "(SELECT coalesce(max(nodes), 0) FROM (SELECT count(DISTINCT node) AS nodes FROM run_rank "
      "WHERE run_id IN (SELECT run_id FROM trial_repeat JOIN trial ON trial.id = trial_id "
      "WHERE trial.study_id = ?1) GROUP BY run_id)) FROM study_view WHERE study_id = ?1");
  statement.bind(study.id);
  statement.step();
  facts["machine_class"] = statement.value<std::string>(0);
  facts["layout"] = statement.value<std::string>(1);
  facts["ranks"] = std::to_string(study.ranks);
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return {statement.value<std::string>(2), statement.value<std::int64_t>(3)};
}

}  // namespace

std::vector<std::string> differences_between(const Connection& connection, const std::string& first,
                                             const std::string& second) {
  StudyFacts of_first, of_second;
  const Study one = study_named(connection, first), other = study_named(connection, second);
  const StudyNetwork network = add_place_facts(connection, one, of_first);
  const StudyNetwork other_network = add_place_facts(connection, other, of_second);
  add_model_facts(one, of_first), add_model_facts(other, of_second);
  add_setting_facts(one, of_first), add_setting_facts(other, of_second);
  if (are_other_networks(network.name, other_network.name,
                         std::max(network.nodes, other_network.nodes))) {
    const auto shown = [](const std::string& text) { return text.empty() ? "not known" : text; };
    of_first["network"] = shown(network.name);
    of_second["network"] = shown(other_network.name);
  }
  std::vector<std::string> differences;
  for (const auto& [name, text] : of_first) {
    const auto found = of_second.find(name);
    if (found == of_second.end() || found->second == text) continue;
    differences.push_back(fmt::format("{} of {}: {}, of {}: {}", name, first, shortened(text, 200),
                                      second, shortened(found->second, 200)));
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
