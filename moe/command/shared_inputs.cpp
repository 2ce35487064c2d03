#include "moe/command/shared_inputs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "moe/command/checkpoint_inputs.h"
#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/input/standard_input.h"
#include "moe/model/model_json.h"
#include "moe/model/published/read_config.h"
#include "moe/source_tree.h"
#include "moe/train/checkpoint/checksum.h"
#include "moe/train/hugging_face/counterparts.h"

namespace moe {
namespace {

/// What --schedule means by stdin.
constexpr const char* kStandardInput = "-";

Model named_model(const TrainArguments& arguments) {
  Model model = load_model(find_input(arguments.model, source_tree() / "experiments" / "models"),
                           arguments.settings);
  if (arguments.seed) model.seed = *arguments.seed;
  return model;
}

bool is_there(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

/// Beside a config.json there may be parameters, which a training that begins knows nothing of.
void tell_of_tensors(const std::filesystem::path& model) {
  if (!is_config(model)) return;
  std::error_code none;
  const auto folder = std::filesystem::is_directory(model, none) ? model : model.parent_path();
  for (const std::string& file :
       {std::string(kTensorsFile), std::string(kTensorsFile) + ".index.json"}) {
    if (!is_there(folder / file)) continue;
    spdlog::info("{}: is not read: a training from it begins with moe-train import --checkpoint",
                 (folder / file).string());
    return;
  }
}

/// The model that this rank itself finds by the name; none where it finds none.
std::optional<Model> own_model(const TrainArguments& arguments) {
  const auto models = source_tree() / "experiments" / "models";
  const bool is_found = is_there(arguments.model) || is_config(arguments.model) ||
                        is_there(models / (arguments.model + ".toml"));
  if (!is_found) return {};
  return named_model(arguments);
}

/// Of the file of --cluster that this process finds by the name; "" where it finds none.
std::string checksum_of_cluster(const TrainArguments& arguments) {
  std::filesystem::path file = arguments.cluster;
  if (!is_there(file)) {
    file = source_tree() / "experiments" / "clusters" / (arguments.cluster + ".toml");
  }
  if (!is_there(file)) return "";
  return checksum_of_text(read_file(file));
}

void add_schedule(SharedInputs& inputs, Schedule schedule, std::string from) {
  inputs.schedules.push_back(std::move(schedule));
  inputs.schedules_from.push_back(std::move(from));
}

/// Those on stdin: one on each line, or one on several.
void add_schedules_of_stdin(SharedInputs& inputs) {
  const std::string text = read_standard_input();
  if (nlohmann::json::accept(text)) {
    add_schedule(inputs, schedule_from_json(text, "stdin"), "stdin");
    return;
  }
  std::istringstream lines(text);
  const std::size_t before = inputs.schedules.size();
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string name = fmt::format("stdin:{}", number);
    add_schedule(inputs, schedule_from_json(line, name), name);
  }
  if (inputs.schedules.size() == before) {
    throw InputError("--schedule -: stdin has no schedule: expected one in JSON on each line");
  }
}

void check_turns(const TrainArguments& arguments, std::size_t schedules) {
  const auto refuse = [&](const char* option) {
    throw InputError(fmt::format("{}: expected one --schedule, not {}", option, schedules));
  };
  const auto turns = static_cast<std::int64_t>(schedules);
  if (std::max(arguments.steps, arguments.evaluate_every) * turns > kMostIterations) {
    throw InputError(fmt::format("--steps {}: expected at most {} iterations of {} schedules",
                                 arguments.steps, kMostIterations, turns));
  }
  if (!arguments.print_program.empty()) refuse("--print-program");
  if (!arguments.checkpoint.empty()) refuse("--checkpoint");
  if (arguments.balanced_steps.value_or(0) > 0) refuse("--balanced-steps");
}

/// For a person: which of two schedules it is, whatever it is called.
std::string said(const Schedule& schedule) {
  const std::string decisions = decisions_json(schedule);
  return fmt::format("{} decisions, {}", schedule.decisions.size(),
                     checksum_text(checksum(std::as_bytes(std::span(decisions)))));
}

}  // namespace

SharedInputs read_shared_inputs(const TrainArguments& arguments, const TrainingPlanner& planner) {
  if (arguments.plan_beside && arguments.plan_every == 0) {
    throw InputError(
        "--plan-beside: with --plan-every 0 there is one plan, before the first iteration: "
        "expected --plan-every 1 or more");
  }
  SharedInputs inputs{.model = named_model(arguments),
                      .schedules = {},
                      .schedules_from = {},
                      .remark = "",
                      .costs = "",
                      .cluster = checksum_of_cluster(arguments)};
  if (const std::string said = assumed_training(arguments.model, inputs.model); !said.empty()) {
    spdlog::info(said);
  }
  if (!arguments.resume) tell_of_tensors(arguments.model);
  if (!arguments.planner.empty()) {
    FirstPlan plan = planner.first(settings_in_force(arguments, inputs.model));
    add_schedule(inputs, std::move(plan.schedule), "");
    inputs.remark = std::move(plan.remark);
    inputs.costs = std::move(plan.costs);
  } else if (arguments.schedules.empty()) {
    add_schedule(inputs, {.planner = db::kSequential, .decisions = {}}, "");
  }
  for (const std::string& file : arguments.schedules) {
    if (file == kStandardInput) {
      add_schedules_of_stdin(inputs);
    } else {
      add_schedule(inputs, load_schedule(file), file);
    }
  }
  if (inputs.schedules.size() == 1) return inputs;
  // Ranks tell each other whose turn it is by schedules with a name.
  for (std::size_t i = 0; i < inputs.schedules.size(); ++i) {
    std::string& name = inputs.schedules[i].planner;
    if (name.empty()) name = std::filesystem::path(inputs.schedules_from[i]).filename().string();
  }
  check_turns(arguments, inputs.schedules.size());
  return inputs;
}

std::string to_json(const SharedInputs& inputs) {
  nlohmann::json json{{"model", nlohmann::json::parse(to_json(inputs.model))},
                      {"schedules", nlohmann::json::array()},
                      {"schedules_from", inputs.schedules_from},
                      {"remark", inputs.remark},
                      {"costs", inputs.costs},
                      {"cluster", inputs.cluster}};
  for (const Schedule& schedule : inputs.schedules) {
    json["schedules"].push_back(nlohmann::json::parse(to_json(schedule)));
  }
  return json.dump();
}

SharedInputs shared_inputs_from_json(std::string_view text) {
  constexpr const char* name = "inputs handed to ranks";
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) throw InputError(fmt::format("{}: expected a JSON object", name));
  SharedInputs inputs;
  inputs.model = model_from_json(json.at("model").dump(), name);
  for (const auto& schedule : json.at("schedules")) {
    inputs.schedules.push_back(schedule_from_json(schedule.dump(), name));
  }
  inputs.schedules_from = json.at("schedules_from").get<std::vector<std::string>>();
  inputs.remark = json.at("remark");
  inputs.costs = json.at("costs");
  inputs.cluster = json.at("cluster");
  return inputs;
}

std::vector<InputFact> facts_of_own_files(const TrainArguments& arguments,
                                          const SharedInputs& shared) {
  std::vector<InputFact> facts;
  if (const auto own = own_model(arguments)) {
    for (const KeyDifference& one : differing_keys(shared.model, *own)) {
      const std::string table(one.table.substr(0, one.table.find('.')));
      facts.push_back({table.empty() ? one.key : table + "." + one.key, one.second, one.first});
    }
  }
  // Files of which stdin, before them, had several schedules are not looked for.
  for (std::size_t i = 0; i < std::min(arguments.schedules.size(), shared.schedules.size()); ++i) {
    const std::string& file = arguments.schedules[i];
    if (file == kStandardInput) break;
    if (!is_there(file)) continue;
    const Schedule own = load_schedule(file);
    facts.push_back({"--schedule " + file, said(own), said(shared.schedules[i])});
  }
  if (arguments.plan_every > 0 || arguments.micro_profile_steps > 0) {
    if (const std::string own = checksum_of_cluster(arguments); !own.empty()) {
      facts.push_back({"--cluster " + arguments.cluster, own, shared.cluster});
    }
  }
  return facts;
}

}  // namespace moe
