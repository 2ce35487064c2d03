#include "moe/train/hugging_face/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/published/config_text.h"
#include "moe/model/published/fitting_class.h"
#include "moe/model/published/read_config.h"
#include "moe/train/checkpoint/checkpoint_files.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/checkpoint/written_file.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/elements.h"
#include "moe/train/hugging_face/unfinished_folder.h"

namespace moe {
namespace {

/// The folder of the one checkpoint that is meant.
std::filesystem::path folder_of(const std::filesystem::path& given) {
  if (std::filesystem::exists(given / kIndexFile)) return given;
  const std::vector<int> complete = checkpoints_in(given);
  if (complete.empty()) {
    throw InputError(fmt::format("{}: has no checkpoint: expected a folder that --checkpoint wrote",
                                 given.string()));
  }
  return checkpoint_folder(given, complete.back());
}

void expect_free(const std::filesystem::path& folder) {
  const auto name = folder.filename();
  if (name.empty() || name == "." || name == "..") {
    throw InputError(
        fmt::format("{}: cannot be replaced: expected the name of a new folder", folder.string()));
  }
  std::error_code none;
  const auto status = std::filesystem::symlink_status(folder, none);
  if (!std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status) && std::filesystem::is_empty(folder, none)) return;
  throw InputError(fmt::format("{}: exists already: expected a new folder", folder.string()));
}

/// "hf" of "hf/", beside which a folder can be made.
std::filesystem::path without_end(const std::filesystem::path& folder) {
  return folder.has_filename() ? folder : folder.parent_path();
}

/// Gives the folder of what is written its name.
void complete_folder(UnfinishedFolder& unfinished, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::rename(unfinished.path(), folder, failed);  // also onto an empty folder
  const std::string complete = unfinished.path().string();
  unfinished.keep();
  if (!failed) return;
  throw std::runtime_error(fmt::format("{}: cannot be made: {}: {} is complete", folder.string(),
                                       failed.message(), complete));
}

/// The tensors of a checkpoint as its model has them.
class OurTensors {
 public:
  /// `index` must outlive it. Throws Refusal with the file for a model that cannot be.
  OurTensors(const CheckpointIndex& index, const std::filesystem::path& folder)
      : files_(index, folder) {
    try {
      program_ = build_iteration(index.model, make_groups(1, 1), 0);
    } catch (const Refusal& refusal) {
      throw within((folder / kIndexFile).string(), refusal);
    }
    for (NamedTensor& named : named_tensors(program_)) {
      std::string name = named.name;
      named_.emplace(std::move(name), std::move(named));
    }
  }

  /// Throws InputError with file and tensor for one that is missing or changed, or of another shape
  /// or type than the model's.
  const StoredTensor& tensor(const std::string& name) { return files_.tensor(named_.at(name)); }
  std::filesystem::path path_of(const std::string& name) const { return files_.path_of(name); }

 private:
  CheckpointFiles files_;
  Program program_;
  std::map<std::string, NamedTensor> named_;
};

/// Puts the part of ours that `one` is into its part of theirs.
void put_part(const Counterpart& one, OurTensors& files, std::vector<double>& theirs) {
  if (one.ours.empty()) return;
  const TheirPart region = one.region();
  const StoredTensor& ours = files.tensor(one.ours);
  const std::vector<double> from = elements_of(ours, files.path_of(one.ours));
  for (std::int64_t r = 0; r < region.rows; ++r) {
    for (std::int64_t c = 0; c < region.columns; ++c) {
      theirs[static_cast<std::size_t>(region.place(r, c, one.of_row()))] =
          one.factor * from[static_cast<std::size_t>(one.place(r, c, ours.shape.back()))];
    }
  }
}

/// A tensor of theirs, of the counterparts [first, last).
std::vector<double> written_values(const Counterpart* first, const Counterpart* last,
                                   OurTensors& files) {
  std::int64_t elements = 1;
  for (const std::int64_t size : first->shape) elements *= size;
  std::vector<double> values(static_cast<std::size_t>(elements));
  for (const Counterpart* one = first; one != last; ++one) put_part(*one, files, values);
  return values;
}

void expect_zeros(const std::vector<std::string>& names, OurTensors& files,
                  const PublishedClass& of) {
  for (const std::string& name : names) {
    const auto values = elements_of(files.tensor(name), files.path_of(name));
    if (std::ranges::all_of(values, [](double value) { return value == 0; })) continue;
    throw InputError(
        fmt::format("{}: tensor {}: {} has no such tensor: expected zeros, or a model "
                    "with attention_biases = \"qkv\" from the beginning",
                    files.path_of(name).string(), name, of.name));
  }
}

}  // namespace

ExportReport export_checkpoint(const ExportOptions& options) {
  const std::filesystem::path to = without_end(options.to);
  expect_free(to);
  const std::filesystem::path folder = folder_of(options.checkpoint);
  CheckpointIndex index = read_index(folder);
  OurTensors files(index, folder);
  if (options.drop_nothing) index.model.capacity_factor.reset();
  const PublishedClass& of = fitting_class(index.model, options.as);
  const Counterparts list = counterparts(index.model, of);
  expect_zeros(list.zeros, files, of);

  const std::string dtype(stored_type(index.model.dtype));
  std::vector<MadeTensor> tensors;
  const Counterpart* const end = list.tensors.data() + list.tensors.size();
  for (const Counterpart* one = list.tensors.data(); one != end;) {
    const Counterpart* last = one;
    while (last != end && last->theirs == one->theirs) ++last;
    // The bias of a gate is f32 beside parameters in bf16, there too.
    const std::string type = one->ours.empty() ? dtype : files.tensor(one->ours).dtype;
    tensors.push_back(
        {one->theirs, type, one->shape, [&files, one, last, type](const BytesTaker& take) {
           take(stored_as(type, written_values(one, last, files)));
         }});
    one = last;
  }
  UnfinishedFolder unfinished(to.parent_path());
  const FileSeal seal = write_safetensors(unfinished.path() / kTensorsFile, tensors);
  write_text(unfinished.path() / kConfigFile, config_text(index.model, of), "config");
  complete_folder(unfinished, to);
  return {&of, index.iteration, tensors.size(), seal.bytes};
}

}  // namespace moe
