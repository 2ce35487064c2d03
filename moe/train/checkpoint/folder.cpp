#include "moe/train/checkpoint/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "db/console/output_target.h"
#include "moe/errors.h"
#include "moe/train/checkpoint/written_file.h"

namespace moe {
namespace {

constexpr std::string_view kIteration = "iteration-";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kTrial = "iteration-trial-";  // folder_trial.cpp

/// The iteration of a folder named "iteration-00000400"; none for other names.
std::optional<int> iteration_named(std::string_view name) {
  if (!name.starts_with(kIteration)) return std::nullopt;
  name.remove_prefix(kIteration.size());
  int iteration = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), iteration);
  if (error != std::errc{} || end != name.data() + name.size() || iteration < 0) {
    return std::nullopt;
  }
  return iteration;
}

std::string name_of_iteration(int iteration) {
  return fmt::format("{}{:08}", kIteration, iteration);
}

/// Whether a training gives a folder this name while it writes; others are somebody's.
bool is_partial(std::string_view name) {
  if (!name.ends_with(kPartial)) return false;
  name.remove_suffix(kPartial.size());
  if (name.starts_with(kTrial)) {
    name.remove_prefix(kTrial.size());
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  }
  const auto iteration = iteration_named(name);
  return iteration && name == name_of_iteration(*iteration);
}

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& directory, int iteration) {
  return directory / name_of_iteration(iteration);
}

std::filesystem::path partial_folder(const std::filesystem::path& directory, int iteration) {
  return checkpoint_folder(directory, iteration).string() + std::string(kPartial);
}

std::string shard_file(int rank) { return fmt::format("rank-{:05}.safetensors", rank); }

std::vector<int> checkpoints_in(const std::filesystem::path& directory) {
  std::vector<int> iterations;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    const auto iteration = iteration_named(name);
    // "iteration-7" is not the name that a training gives.
    if (iteration && name == name_of_iteration(*iteration)) iterations.push_back(*iteration);
  }
  std::ranges::sort(iterations);
  return iterations;
}

std::unique_ptr<FolderLock> prepare_folder(const std::filesystem::path& directory, int last,
                                           double patience_s) {
  make_folder(directory);
  auto lock = std::make_unique<FolderLock>(directory, patience_s);
  if (const auto complete = checkpoints_in(directory);
      !complete.empty() && complete.back() > last) {
    throw InputError(
        fmt::format("{}: another training has written the checkpoint of iteration {} "
                    "meanwhile: begin again",
                    directory.string(), complete.back()));
  }
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (is_partial(entry.path().filename().string())) left.push_back(entry.path());
  }
  for (const auto& folder : left) {
    std::error_code failed;
    std::filesystem::remove_all(folder, failed);
    if (failed) throw db::open_error(folder.string(), failed.value());
  }
  return lock;
}

std::filesystem::path import_folder(const std::filesystem::path& directory) {
  return directory / "import.partial";
}

void expect_no_unfinished_import(const std::filesystem::path& directory) {
  const auto folder = import_folder(directory);
  std::error_code none;
  if (!std::filesystem::exists(folder, none)) return;
  throw InputError(fmt::format(
      "{}: an import was ended before it was complete: give the same `moe-train import` "
      "again, which goes on, or remove that folder",
      folder.string()));
}

void complete(const std::filesystem::path& directory, const CheckpointIndex& index,
              const std::filesystem::path& partial) {
  const auto folder = checkpoint_folder(directory, index.iteration);
  const std::string text = to_text(index);
  write_text(partial / kIndexFile, text, "index");
  sync_folder(partial);
  std::error_code failed;
  std::filesystem::rename(partial, folder, failed);
  if (failed) {
    throw std::runtime_error(fmt::format("{}: cannot become {}: {}", partial.string(),
                                         folder.filename().string(), failed.message()));
  }
  sync_folder(directory);
}

void remove_older(const std::filesystem::path& directory, int keep) {
  std::vector<int> iterations = checkpoints_in(directory);
  if (keep < 1) return;
  while (static_cast<int>(iterations.size()) > keep) {
    // Renamed first, so that no half of it looks complete.
    const auto old = partial_folder(directory, iterations.front());
    std::filesystem::rename(checkpoint_folder(directory, iterations.front()), old);
    std::filesystem::remove_all(old);
    iterations.erase(iterations.begin());
  }
}

}  // namespace moe
