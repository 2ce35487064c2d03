#include "tuner/commands/study_layouts.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "db/connection.h"
#include "db/console/format_rows.h"
#include "db/error.h"
#include "db/load.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_json.h"
#include "tuner/commands/best_layout.h"
#include "tuner/commands/printing.h"
#include "tuner/commands/study_sweep.h"
#include "tuner/scenario/sweep.h"
#include "tuner/study/compared_layouts.h"
#include "tuner/study/studies_in_turns.h"

namespace tuner {
namespace {

constexpr std::string_view kBestLayouts = "best:";
constexpr int kMostLayouts = 500;
constexpr std::string_view kAllLayouts = "all";

void set_key(StudyOptions& study, const std::string& key, std::string_view value) {
  std::vector<std::string>& settings = study.job.settings;
  std::erase_if(settings, [&](const std::string& one) { return one.starts_with(key + '='); });
  settings.push_back(fmt::format("{}={}", key, value));
  study.chosen.insert(study.chosen.end(), {"--set", settings.back()});
}

void take_setup(const TrainingSetup& setup, StudyOptions& study) {
  study.job.layout = moe::short_text(setup.layout);
  study.chosen = {"--layout", study.job.layout};
  if (setup.micro_batches != study.model.micro_batches) {
    set_key(study, "training.micro_batches", std::to_string(setup.micro_batches));
  }
  if (setup.batch_per != study.model.batch_per) {
    set_key(study, "training.batch_per", name_of(setup.batch_per));
  }
  study.model = with_setup(std::move(study.model), setup);
}

/// That a study was begun with; a key that is asked for now stays as it is asked for.
TrainingSetup stored_setup(const db::Study& stored, const StudyOptions& study) {
  const moe::Model model = moe::model_from_json(stored.model_json, "its model");
  TrainingSetup setup{moe::layout_from_text(stored.layout), model.batch_per, model.micro_batches};
  if (is_set(study.job.settings, "training.micro_batches"))
    setup.micro_batches = study.model.micro_batches;
  if (is_set(study.job.settings, "training.batch_per")) setup.batch_per = study.model.batch_per;
  return setup;
}

/// The studies of the database that `is_it` holds of, where this one goes on.
template <class Is>
std::vector<TrainingSetup> begun(const StudyOptions& study, const Is& is_it) {
  std::vector<TrainingSetup> setups;
  std::error_code ignored;
  if (!study.resume || !std::filesystem::exists(study.job.database, ignored)) return setups;
  std::vector<db::Study> stored = db::load_studies(db::open_reader(study.job.database));
  std::ranges::sort(stored, {}, &db::Study::id);
  for (const db::Study& one : stored) {
    if (is_it(one)) setups.push_back(stored_setup(one, study));
  }
  return setups;
}

ScenarioOptions searched_scenario(const Arguments& arguments, const StudyOptions& study) {
  ScenarioOptions scenario = arguments.scenario;
  if (scenario.cluster.empty()) scenario.cluster = kMeasuredCluster;
  scenario.ranks = study.job.ranks;
  scenario.layout.clear();
  scenario.network = study.job.network();
  scenario.routing = study.routing.empty() ? "uniform" : study.routing;
  scenario.settings = study.job.settings;
  return scenario;
}

FastestLayouts fastest_of_study(const Arguments& arguments, const StudyOptions& study, int count) {
  const ScenarioOptions scenario = searched_scenario(arguments, study);
  const MeasuredCosts costs = load_named_costs(scenario, study.model);
  const Cluster& cluster = costs.costed.cluster;
  if (study.job.ranks > cluster.nodes * cluster.ranks_per_node) {
    throw moe::InputError(fmt::format(
        "cluster {} has {} ranks, the study {}: expected --cluster with at least as many, or "
        "--layout",
        cluster.name, cluster.nodes * cluster.ranks_per_node, study.job.ranks));
  }
  std::optional<LayoutRange> layouts;
  if (arguments.study_layouts == kAllLayouts) layouts.emplace();
  return fastest_layouts(scenario, study.model, costs, study.job.ranks, study.planners, count,
                         study.job.memory_limit_bytes, layouts);
}

moe::Layout listed_layout(std::string_view text, const StudyOptions& study) {
  try {
    return moe::parse_layout(text, study.job.ranks, moe::fits(study.model));
  } catch (const std::runtime_error& error) {  // wrong text, or another number of ranks
    throw moe::InputError(fmt::format("--layouts: {}", error.what()));
  }
}

/// The layout of a list, with the batch_per that the model takes it with.
TrainingSetup listed_setup(std::string_view text, const StudyOptions& study) {
  const moe::Layout layout = listed_layout(text, study);
  const auto taken = setups_of(study.model, study.job.ranks, {layout, layout},
                               std::vector{study.model.micro_batches});
  if (!taken.setups.empty()) return taken.setups.front();
  return {layout, study.model.batch_per, study.model.micro_batches};  // loading says why not
}

/// Whether the search failed for want of measured costs, where no cluster's file was asked for.
bool lacks_costs(const Arguments& arguments, const db::Error& error) {
  return arguments.scenario.cluster.empty() && error.kind == db::ErrorKind::not_found;
}

[[noreturn]] void refuse_layouts(std::string_view text) {
  throw moe::InputError(fmt::format(
      "--layouts {}: expected best:K with K from 1 to {}, all, or layouts with / between them, as "
      "in ep=4/dp=2,ep=2",
      text, kMostLayouts));
}

/// How many layouts "best:3" or "all" asks for; none of a list.
std::optional<int> count_of(std::string_view text) {
  if (text == kAllLayouts) return kMostLayouts;
  if (!text.starts_with("best")) return std::nullopt;
  const std::string_view number =
      text.starts_with(kBestLayouts) ? text.substr(kBestLayouts.size()) : std::string_view();
  int count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || count < 1 ||
      count > kMostLayouts) {
    refuse_layouts(text);
  }
  return count;
}

std::vector<TrainingSetup> asked_setups(const Arguments& arguments, const StudyOptions& study) {
  std::vector<TrainingSetup> setups;
  const std::optional<int> count = count_of(arguments.study_layouts);
  if (!count) {
    for (const std::string_view text : moe::split(arguments.study_layouts, '/')) {
      if (text.empty()) refuse_layouts(arguments.study_layouts);
      const TrainingSetup setup = listed_setup(text, study);
      if (std::ranges::count(setups, setup) > 0) {
        throw moe::InputError(fmt::format("--layouts {}: {} comes twice", arguments.study_layouts,
                                          moe::short_text(setup.layout)));
      }
      setups.push_back(setup);
    }
    return setups;
  }
  setups = begun(study, [&](const db::Study& one) { return one.part_of == study.name; });
  if (!setups.empty()) {
    spdlog::info("study \"{}\" goes on with its {} layouts", study.name, setups.size());
    return setups;
  }
  const FastestLayouts fastest = [&] {
    try {
      return fastest_of_study(arguments, study, *count);
    } catch (const db::Error& error) {
      if (!lacks_costs(arguments, error)) throw;
      throw moe::InputError(
          fmt::format("--layouts {}: {} has no costs yet to search layouts by; expected --cluster "
                      "NAME, or a list of layouts",
                      arguments.study_layouts, study.job.database));
    }
  }();
  spdlog::info("the {} fastest of {} layouts by search:", fastest.found.size(), fastest.layouts);
  for (const FoundSetup& found : fastest.found) {
    spdlog::info("  {} ({}: {})", options_of(study.model, found.setup), found.order,
                 db::format_cell("predicted_s", found.predicted_s));
    setups.push_back(found.setup);
  }
  return setups;
}

void print_layouts(const Arguments& arguments, const ComparedLayouts& compared) {
  const auto any = [&](std::string db::Trial::*text) {
    return shows_column(arguments,
                        std::ranges::any_of(compared.trials, [&](const LayoutTrial& one) {
                          return !(one.trial.*text).empty();
                        }));
  };
  const bool shows_failure = any(&db::Trial::failure);
  std::vector<std::string> columns{"place",      "predicted_place",      "layout",
                                   "planner",    "parameters",           "predicted_s",
                                   "measured_s", "prediction_error",     "speedup",
                                   "tied_with",  "predicted_peak_bytes", "measured_peak_bytes"};
  if (shows_failure) columns.insert(columns.end(), {"status", "failure"});
  const auto place = [](const std::optional<int>& number) {
    return number ? db::Cell(std::int64_t{*number}) : db::Cell{};
  };
  db::RowWriter writer(stdout, style_of(arguments), columns);
  for (const LayoutTrial& one : compared.trials) {
    const db::Trial& trial = one.trial;
    const auto& predicted = trial.first_predicted_s ? trial.first_predicted_s : trial.predicted_s;
    std::vector<db::Cell> cells{
        place(one.place),
        place(one.predicted_place),
        one.layout,
        trial.planner,
        trial.parameters_json,
        db::optional_cell(predicted),
        db::optional_cell(trial.measured_s),
        predicted && trial.measured_s ? db::Cell(*predicted / *trial.measured_s - 1) : db::Cell{},
        db::optional_cell(one.speedup),
        db::text_cell(one.tied_with),
        db::optional_cell(trial.predicted_peak_bytes),
        db::optional_cell(trial.measured_peak_bytes)};
    if (shows_failure) {
      cells.insert(cells.end(), {trial.status, db::text_cell(trial.failure)});
    }
    writer.row(cells);
  }
  writer.finish();
}

}  // namespace

void choose_layout(const Arguments& arguments, StudyOptions& study) {
  if (!study.job.layout.empty() || study.job.ranks == 1) return;
  const auto stored = begun(study, [&](const db::Study& one) { return one.name == study.name; });
  if (!stored.empty()) return take_setup(stored.front(), study);
  try {
    const FastestLayouts fastest = fastest_of_study(arguments, study, 1);
    spdlog::info("study \"{}\": {}; --layouts best:3 measures several", study.name,
                 fastest_in_words(fastest, study.model));
    take_setup(fastest.found.front().setup, study);
  } catch (const moe::Refusal& refusal) {
    spdlog::info("study \"{}\": all experts are over all ranks, as a search finds no layout: {}",
                 study.name, refusal.what());
  } catch (const moe::InputError& error) {
    if (!arguments.scenario.cluster.empty()) throw;
    spdlog::info(
        "study \"{}\": all experts are over all ranks, as there is nothing to search a "
        "layout by: {}; --cluster NAME searches by a cluster's file",
        study.name, error.what());
  } catch (const db::Error& error) {
    if (!lacks_costs(arguments, error)) throw;
    spdlog::info(
        "study \"{}\": all experts are over all ranks, as {} has no costs yet to search a "
        "layout by; --cluster NAME searches by a cluster's file",
        study.name, study.job.database);
  }
}

std::vector<StudyOptions> studies_of_layouts(const Arguments& arguments,
                                             const StudyOptions& study) {
  std::vector<StudyOptions> studies;
  for (const TrainingSetup& setup : asked_setups(arguments, study)) {
    StudyOptions one = study;
    one.part_of = study.name;
    one.name = fmt::format("{} {}", study.name, moe::short_text(setup.layout));
    one.say = [say = study.say, layout = moe::short_text(setup.layout)](const std::string& text) {
      say(fmt::format("{}: {}", layout, text));
    };
    take_setup(setup, one);
    studies.push_back(std::move(one));
  }
  return studies;
}

int study_layouts(const Arguments& arguments, const std::vector<StudyOptions>& studies) {
  const std::vector<StudyEnd> ends = run_in_turns(studies, arguments.study.say);
  if (arguments.study.dry_run) {
    std::vector<SweptStudy> planned;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      planned.push_back({{"layout=" + studies[i].job.layout}, studies[i], "", ends[i]});
    }
    print_plans({{"layout", {}}}, planned, arguments);
    return 0;
  }
  std::vector<StudyOfLayout> measured;
  const db::Connection connection = db::open_reader(arguments.study.job.database);
  bool failed = false;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (const auto stored = db::find_study(connection, studies[i].name)) {
      measured.push_back({studies[i].job.layout, stored->id});
    }
    if (ends[i].failure.empty()) continue;
    spdlog::error("study \"{}\": {}", studies[i].name, ends[i].failure);
    failed = true;
  }
  const ComparedLayouts compared = compared_layouts(connection, measured);
  print_layouts(arguments, compared);
  for (const std::string& line : compared.lines) spdlog::info(line);
  return failed ? 1 : 0;
}

}  // namespace tuner
