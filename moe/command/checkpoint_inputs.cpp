#include "moe/command/checkpoint_inputs.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "moe/communicator/mpi_job.h"
#include "moe/errors.h"
#include "moe/input/setting.h"
#include "moe/model/capacity_groups.h"
#include "moe/model/layout_refusal.h"
#include "moe/train/checkpoint/folder.h"

namespace moe {
namespace {

/// Takes over the number of capacity groups of a checkpoint where the model leaves it open.
void take_capacity_groups(const TrainArguments& arguments, TrainInputs& inputs) {
  const CheckpointIndex& index = inputs.resume->index;
  const int ranks = arguments.ranks.value_or(mpi_job_size().value_or(1));
  const Layout layout = parse_layout(arguments.layout, ranks, fits(inputs.model));
  TakenGroups taken = taken_groups(routes_by_groups(index.model) ? index.model.capacity_groups : 0,
                                   index.iteration, inputs.model, layout);
  if (!taken.remark.empty()) inputs.resume->remarks.push_back(std::move(taken.remark));
  if (taken.groups > 0) inputs.model.capacity_groups = taken.groups;
}

}  // namespace

void read_checkpoint(const TrainArguments& arguments, TrainInputs& inputs) {
  const auto& directory = arguments.checkpoint;
  if (directory.empty()) return;
  if (arguments.resume) {
    inputs.resume = find_resume_point(directory);
    if (!inputs.resume) return;
    take_capacity_groups(arguments, inputs);
    compare_models(*inputs.resume, inputs.model, arguments.evaluate_only);
    return;
  }
  if (const auto complete = checkpoints_in(directory); !complete.empty()) {
    throw InputError(
        fmt::format("--checkpoint: {} has checkpoints up to iteration {}: expected --resume beside "
                    "it, or another folder",
                    directory.string(), complete.back()));
  }
}

std::vector<std::string> settings_in_force(const TrainArguments& arguments, const Model& model) {
  std::vector<std::string> settings = arguments.settings;
  TrainInputs inputs;
  inputs.model = model;
  read_checkpoint(arguments, inputs);
  if (inputs.model.capacity_groups == model.capacity_groups) return settings;
  constexpr std::string_view key = "moe.capacity_groups";
  std::erase_if(settings,
                [&](const std::string& one) { return key_of(parse_setting(one)) == key; });
  settings.push_back(fmt::format("{}={}", key, inputs.model.capacity_groups));
  return settings;
}

}  // namespace moe
