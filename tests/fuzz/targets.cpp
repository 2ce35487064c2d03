#include "tests/fuzz/targets.h"

#include <algorithm>
#include <fstream>

#include "moe/input/read_file.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/model/model_json.h"
#include "moe/passes/schedule.h"
#include "moe/rows/routing_file.h"
#include "tuner/costs/cluster.h"

namespace fuzz {
namespace {

const std::filesystem::path kExperiments = MOELAB_SOURCE_DIR "/experiments";

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // a seed must mean the same everywhere
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(moe::read_file(path));
  return texts;
}

std::filesystem::path written(const std::string& text, const std::filesystem::path& folder) {
  const auto path = folder / "input.toml";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

void load_model(const std::string& text, const std::filesystem::path& folder) {
  const moe::Model model = moe::load_model(written(text, folder));
  for (const int ranks : {1, 2}) {
    const moe::Groups groups = moe::make_groups(ranks, ranks);
    moe::check(model, groups);
    moe::build_iteration(model, groups, 0);
  }
  moe::to_json(model);
}

void load_cluster(const std::string& text, const std::filesystem::path& folder) {
  const auto costed = tuner::load_cluster(written(text, folder));
  tuner::cluster_from_json(tuner::to_json(costed.cluster));
  tuner::cost_model_from_json(tuner::to_json(costed.costs));
}

/// With capacities and without: what is known of routed rows is a limit for some decisions.
std::vector<moe::Program> sample_programs() {
  moe::Model model = moe::load_model(kExperiments / "models" / "micro.toml");
  const moe::Groups groups = moe::make_groups(4, 4, {0, 0, 1, 1});
  std::vector<moe::Program> programs{moe::build_iteration(model, groups, 0)};
  model.capacity_factor.reset();
  programs.push_back(moe::build_iteration(model, groups, 0));
  return programs;
}

void load_schedule(const std::string& text, const std::filesystem::path&) {
  static const std::vector<moe::Program> programs = sample_programs();
  const moe::Schedule schedule = moe::schedule_from_json(text);
  moe::to_json(schedule);
  for (const moe::Program& program : programs) moe::apply(program, schedule);
}

void load_routing(const std::string& text, const std::filesystem::path&) {
  moe::to_json(moe::routing_from_json(text));
}

std::vector<std::string> schedules() {
  using moe::Exchange, moe::Route;
  using moe::PipelineSplit, moe::StreamAssignment, moe::Phase, moe::Stream;
  return {moe::to_json(moe::Schedule{"sequential", {}}),
          moe::to_json(moe::Schedule{
              "hierarchical",
              {Exchange{1, Phase::forward, {}, Route::two_d, 0},
               Exchange{1, Phase::backward, moe::Direction::combine, Route::pairwise, 2}}}),
          moe::to_json(moe::Schedule{
              "tutel",
              {PipelineSplit{1, Phase::forward, 2}, PipelineSplit{3, Phase::backward, 3},
               StreamAssignment{"all_to_all", Stream::inter_node}}}),
          moe::to_json(moe::Schedule{
              "pipemoe",
              {PipelineSplit{1, Phase::forward, 4}, PipelineSplit{1, Phase::backward, 2},
               StreamAssignment{"all_to_all", Stream::inter_node},
               StreamAssignment{"all_reduce", Stream::intra_node}}})};
}

std::vector<std::string> routings() {
  return {moe::to_json(moe::Routing{{moe::uniform_routing(1, 4, 4, 16)}}),
          moe::to_json(moe::Routing{
              {moe::zipf_routing(1, 4, 8, 100, 1.2, 1), moe::zipf_routing(3, 4, 8, 100, 1.2, 2)}})};
}

}  // namespace

std::vector<Target> targets() {
  return {{"model", "model.toml", files_of(kExperiments / "models"), load_model},
          {"cluster", "cluster.toml", files_of(kExperiments / "clusters"), load_cluster},
          {"schedule", "schedule.json", schedules(), load_schedule},
          {"routing", "routing.json", routings(), load_routing}};
}

}  // namespace fuzz
