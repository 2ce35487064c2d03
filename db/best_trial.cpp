#include "db/best_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "db/load.h"
#include "db/statement.h"

namespace db {
namespace {

/// Options of `moe-tune study` with one value that say what is trained and where; moe-train has them
/// too.
constexpr std::array<std::string_view, 11> kTrainedWith{
    "--model",   "--set",          "--seed",      "--ranks",    "--layout",  "--device",
    "--threads", "--memory-limit", "--copy-gbps", "--launcher", "--hostfile"};

/// The texts of a list of the study's settings; none where there is no such list.
std::vector<std::string> texts_of(const std::string& settings_json, const char* key) {
  constexpr bool kThrows = false;
  const auto settings = nlohmann::json::parse(settings_json, nullptr, kThrows);
  std::vector<std::string> texts;
  if (!settings.is_object() || !settings.contains(key)) return texts;
  for (const nlohmann::json& text : settings[key]) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

/// `--data` with its files, from the study's settings: among the words that follow it in a command
/// line may be the name of the study. Empty where there are none.
std::vector<std::string> words_of_data(const std::string& settings_json) {
  std::vector<std::string> words = texts_of(settings_json, "data");
  if (!words.empty()) words.insert(words.begin(), "--data");
  return words;
}

/// The words of a study's command line that its trials were trained with. Empty where it is not
/// known.
std::vector<std::string> words_of_study(const Connection& connection, const std::string& study) {
  Statement statement(connection,
                      "SELECT argv_json FROM run WHERE kind = 'study' AND name = ? "
                      "ORDER BY started_at DESC, id DESC LIMIT 1");
  statement.bind(study);
  if (!statement.step()) return {};
  constexpr bool kThrows = false;
  const auto argv = nlohmann::json::parse(statement.value<std::string>(0), nullptr, kThrows);
  std::vector<std::string> words;
  if (!argv.is_array()) return words;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (!argv[i].is_string()) continue;
    const auto word = argv[i].get<std::string>();
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(kTrainedWith, name) == kTrainedWith.end()) continue;
    words.push_back(word);
    if (name == word && i + 1 < argv.size() && argv[i + 1].is_string()) {
      words.push_back(argv[++i].get<std::string>());
    }
  }
  return words;
}

std::vector<std::string> commands_of(const Connection& connection, const Study& study,
                                     const BestTrial& best, const std::string& path) {
  const std::string schedule = fmt::format("trial-{}.json", best.trial);
  std::vector<std::string> words = words_of_study(connection, best.study);
  const auto has = [&](const std::string& option) {
    return std::ranges::any_of(words, [&](const std::string& word) {
      return word == option || word.starts_with(option + "=");
    });
  };
  if (!has("--model")) {
    words.insert(words.end(), {"--model", best.model.empty() ? "MODEL" : best.model});
  }
  if (!has("--ranks")) words.insert(words.end(), {"--ranks", std::to_string(best.ranks)});
  // What a search chose was not typed.
  const std::vector<std::string> chosen = texts_of(study.settings_json, "chosen");
  words.insert(words.end(), chosen.begin(), chosen.end());
  const std::vector<std::string> data = words_of_data(study.settings_json);
  words.insert(words.end(), data.begin(), data.end());
  std::string train = "moe-train";
  for (const std::string& word : words) train += ' ' + shell_word(word);
  return {fmt::format("moe-db export schedule --db {} --trial {} -o {}", shell_word(path),
                      best.trial, schedule),
          fmt::format("{} --schedule {}", train, schedule)};
}

std::optional<BestTrial> best_of(const Connection& connection, const Study& study,
                                 const std::string& path) {
  Statement statement(
      connection,
      "SELECT trial, planner, parameters, measured_s, speedup, coalesce(speedup_against, ''), "
      "coalesce(tied_with, ''), repeats, min_repeat_s, max_repeat_s, coalesce(model, ''), "
      "coalesce(hosts, ''), coalesce(network, ''), (SELECT count(*) FROM trial "
      "WHERE trial.study_id = ?1 AND status = 'done'), "
      "NOT EXISTS (SELECT 1 FROM trial WHERE trial.study_id = ?1 AND status = 'done' "
      "AND least_speedup IS NULL), least_speedup, most_speedup "
      "FROM trial_view WHERE study_id = ?1 AND status = 'done' AND measured_s > 0 "
      "ORDER BY measured_s, trial LIMIT 1");
  statement.bind(study.id);
  if (!statement.step()) return std::nullopt;
  BestTrial best;
  best.study = study.name;
  best.ranks = study.ranks;
  best.trial = statement.value<std::int64_t>(0);
  best.planner = statement.value<std::string>(1);
  best.parameters = statement.value<std::string>(2);
  best.measured_s = statement.value<double>(3);
  best.speedup = statement.value<std::optional<double>>(4);
  best.speedup_against = statement.value<std::string>(5);
  best.tied_with = statement.value<std::string>(6);
  best.repeats = statement.value<int>(7);
  best.min_repeat_s = statement.value<std::optional<double>>(8);
  best.max_repeat_s = statement.value<std::optional<double>>(9);
  best.model = statement.value<std::string>(10);
  best.hosts = statement.value<std::string>(11);
  best.network = statement.value<std::string>(12);
  best.finished_trials = statement.value<std::int64_t>(13);
  best.is_judged = statement.value<int>(14) != 0;
  best.least_speedup = statement.value<std::optional<double>>(15);
  best.most_speedup = statement.value<std::optional<double>>(16);
  best.commands = commands_of(connection, study, best, path);
  return best;
}

}  // namespace

std::vector<BestTrial> best_trials(const Connection& connection, const std::string& study,
                                   const std::string& path) {
  std::vector<BestTrial> found;
  bool is_there = study.empty();
  for (const Study& one : load_studies(connection)) {
    if (!study.empty() && one.name != study) continue;
    is_there = true;
    if (auto best = best_of(connection, one, path)) found.push_back(std::move(*best));
  }
  if (!is_there) {
    throw Error(ErrorKind::not_found, fmt::format("{}: no study {}", connection.path(), study));
  }
  if (found.empty()) {
    throw Error(ErrorKind::not_found,
                study.empty()
                    ? fmt::format("{}: no study with a finished trial", connection.path())
                    : fmt::format("{}: study {} has no finished trial", connection.path(), study));
  }
  return found;
}

std::string how_sure(const BestTrial& best) {
  if (best.finished_trials < 2) return "no other trial is finished";
  if (!best.tied_with.empty()) return "not told from " + best.tied_with;
  if (best.is_judged) return "told from all others at 95%";
  if (best.repeats < 2) return "one repeat: nothing tells it from the others";
  return "not judged yet";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace db
