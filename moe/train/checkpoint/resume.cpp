#include "moe/train/checkpoint/resume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "moe/communicator/announced_work.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/model/capacity_groups.h"
#include "moe/model/model_json.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/load.h"

namespace moe {
namespace {

constexpr int kNotRead = 2;  // the exit code

std::string way_out_of(const std::filesystem::path& folder, const std::vector<int>& complete) {
  const std::string before =
      complete.size() > 1 ? fmt::format("go on from iteration {}", complete[complete.size() - 2])
                          : "begin anew";
  return fmt::format("to {}, move {} away", before, folder.string());
}

/// Checkpoints of earlier versions have the model as it was asked for, with 0 where the number of
/// groups followed from the ranks and micro-batches.
void set_groups_in_force(CheckpointIndex& index) {
  if (index.iteration == 0 || index.model.capacity_groups > 0 || !routes_by_groups(index.model))
    return;
  index.model.capacity_groups = capacity_groups(index.model, layout_from_text(index.layout));
}

/// True for the groups of models of which one has no capacity, or of a model that leaves them open.
bool is_open(const KeyDifference& one, const Model& before, const Model& model) {
  return one.key == "capacity_groups" &&
         (model.capacity_groups == 0 || !routes_by_groups(before) || !routes_by_groups(model));
}

/// How often a checkpoint is looked for that a training beside this process replaces meanwhile.
constexpr int kMostLooks = 5;

bool is_gone(const std::filesystem::path& folder) {
  std::error_code ignored;
  return !std::filesystem::exists(folder / kIndexFile, ignored);
}

/// The checkpoint of an iteration, the last of those that are complete.
ResumePoint resume_point(const std::filesystem::path& directory, const std::vector<int>& complete) {
  ResumePoint point;
  point.folder = checkpoint_folder(directory, complete.back());
  point.way_out = way_out_of(point.folder, complete);
  try {
    point.index = read_index(point.folder);
    if (point.index.iteration != complete.back()) {
      throw InputError(fmt::format("{}: is of iteration {}: expected {}, as its folder is named",
                                   (point.folder / kIndexFile).string(), point.index.iteration,
                                   complete.back()));
    }
    set_groups_in_force(point.index);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", error.what(), point.way_out));
  } catch (const Refusal& error) {
    throw InputError(fmt::format("{}: {}: {}", (point.folder / kIndexFile).string(), error.what(),
                                 point.way_out));
  }
  return point;
}

}  // namespace

void compare_models(ResumePoint& point, const Model& model, bool only_evaluates) {
  const CheckpointIndex& index = point.index;
  for (const KeyDifference& one : differing_keys(index.model, model)) {
    if (one.table.empty() || is_open(one, index.model, model)) continue;
    if (one.kind == KeyKind::tensors || (one.kind == KeyKind::function && !only_evaluates)) {
      throw InputError(fmt::format(
          "{}: is of another model: {} = {} there, {} here: expected the model that it is of, {}"
          "or another --checkpoint folder",
          point.folder.string(), one.key, one.first, one.second,
          one.kind == KeyKind::function ? "--evaluate-only to see what the other computes, " : ""));
    }
    point.remarks.push_back(
        one.kind == KeyKind::function
            ? fmt::format("{} was {} where the parameters were trained, and is {} here: the same "
                          "parameters, another function",
                          one.key, one.first, one.second)
            : fmt::format("{} was {} up to iteration {}, and is {} from there on", one.key,
                          one.first, index.iteration, one.second));
  }
}

std::optional<ResumePoint> find_resume_point(const std::filesystem::path& directory) {
  for (int look = 1;; ++look) {
    const std::vector<int> complete = checkpoints_in(directory);
    if (complete.empty()) return std::nullopt;
    try {
      return resume_point(directory, complete);
    } catch (const InputError&) {
      const bool was_replaced = is_gone(checkpoint_folder(directory, complete.back()));
      if (!was_replaced || look == kMostLooks) throw;
    }
  }
}

ResumePoint resume(Runner& runner, ResumePoint point, const Model& model, Communicator& world,
                   double time_limit_s, BesideTraining beside) {
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "reading of a checkpoint";
  const std::filesystem::path directory = point.folder.parent_path();
  std::string failure;
  for (int look = 1;; ++look) {
    try {
      const AnnouncedWork reading("reads " + point.folder.string());
      if (failure.empty()) load_tensors(runner, point.index, point.folder);
    } catch (const InputError& error) {
      failure = fmt::format("{}: {}", error.what(), point.way_out);
    }
    const std::vector<std::string> failures = gather_texts(world, failure, call);
    const auto first = std::ranges::find_if(failures, [](const auto& one) { return !one.empty(); });
    if (first == failures.end()) return point;
    // Rank 0 says which one all take instead.
    const std::vector<int> complete =
        beside == BesideTraining::maybe && world.rank == 0 && is_gone(point.folder)
            ? checkpoints_in(directory)
            : std::vector<int>{};
    const std::string last = complete.empty() ? "" : std::to_string(complete.back());
    const std::string instead = gather_texts(world, last, call).front();
    if (instead.empty() || look == kMostLooks) throw CheckpointError(*first, kNotRead);
    failure.clear();
    try {
      point = resume_point(directory, {std::stoi(instead)});
      compare_models(point, model, beside == BesideTraining::maybe);
      if (world.rank == 0) {
        spdlog::info("another training has replaced that checkpoint: takes {}",
                     point.folder.string());
      }
    } catch (const InputError& error) {
      failure = error.what();
      point.folder = checkpoint_folder(directory, std::stoi(instead));
    }
  }
}

}  // namespace moe
