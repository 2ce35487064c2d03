#include "moe/train/hugging_face/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/iteration.h"
#include "moe/model/model_toml.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/checkpoint/written_file.h"
#include "moe/train/hugging_face/config.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/elements.h"

namespace moe {
namespace {

constexpr const char* kTensorsIndex = "model.safetensors.index.json";
constexpr const char* kModelFile = "model.toml";

/// The tensors of a folder: one file, or several with an index.
class Pretrained {
 public:
  explicit Pretrained(const std::filesystem::path& folder) : folder_(folder) {
    if (!std::filesystem::exists(folder / kTensorsIndex)) {
      open(kTensorsFile);
      return;
    }
    const std::string file = (folder / kTensorsIndex).string();
    const InputDocument document = parse_json(read_file(file), file);
    const InputObject map = document.object().object("weight_map", "an object");
    std::set<std::string> names;
    for (const std::string& tensor : map.keys()) names.insert(map.text(tensor));
    for (const std::string& name : names) open(name);
  }

  /// Throws where it is missing, or has another shape.
  std::vector<double> values(const Counterpart& one) {
    const auto in = file_of_.find(one.theirs);
    if (in == file_of_.end()) {
      throw InputError(fmt::format("{}: tensor {}: is missing", folder_.string(), one.theirs));
    }
    const StoredTensor& tensor = files_.at(in->second).tensor(one.theirs);
    const std::filesystem::path file = folder_ / in->second;
    if (tensor.shape != one.shape) {
      throw InputError(fmt::format("{}: tensor {}: is [{}]: expected [{}]", file.string(),
                                   one.theirs, fmt::join(tensor.shape, ", "),
                                   fmt::join(one.shape, ", ")));
    }
    left_.erase(one.theirs);
    return elements_of(tensor, file);
  }
  bool has(const std::string& name) const { return file_of_.contains(name); }
  /// Throws for a tensor that nothing has asked for. Tables that follow from the configuration are
  /// left aside.
  void expect_all_read() const {
    for (const std::string& name : left_) {
      if (name.ends_with("rotary_emb.inv_freq") || name == "lm_head.weight") continue;
      throw InputError(
          fmt::format("{}: tensor {}: has no counterpart in the model that {} describes",
                      (folder_ / file_of_.at(name)).string(), name, kConfigFile));
    }
  }

 private:
  void open(const std::string& name) {
    const SafetensorsFile& file = files_.try_emplace(name, folder_ / name).first->second;
    for (const std::string& tensor : file.names()) {
      file_of_[tensor] = name;
      left_.insert(tensor);
    }
  }

  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
  std::map<std::string, std::string> file_of_;  // by tensor
  std::set<std::string> left_;
};

/// The parts of each matrix of ours.
using Parts = std::map<std::string, std::vector<const Counterpart*>>;

/// Throws for a tensor that export writes as zeros and that is not zero in this folder.
void expect_zeros(const Counterpart& one, Pretrained& from) {
  if (!from.has(one.theirs)) return;
  const std::vector<double> values = from.values(one);
  if (std::ranges::all_of(values, [](double value) { return value == 0; })) return;
  throw InputError(
      fmt::format("tensor {}: a gate of shared experts has no counterpart here: "
                  "expected zeros, or no shared experts",
                  one.theirs));
}

/// Puts a tensor of theirs into its place in ours.
void put_part(const Counterpart& one, const std::vector<double>& theirs, std::int64_t stride,
              std::vector<double>& ours) {
  const std::int64_t rows = one.shape.size() > 1 ? one.shape.front() : 1,
                     columns = one.shape.back();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t at =
          one.transposed ? c * stride + one.first_column + r : r * stride + one.first_column + c;
      ours[static_cast<std::size_t>(at)] =
          theirs[static_cast<std::size_t>(r * columns + c)] / one.factor;
    }
  }
}

struct Written {
  std::vector<StoredTensor> tensors;
  std::vector<std::vector<std::byte>> storage;  ///< [tensor]
};

/// The whole matrix that `parts` make; zeros where there are none.
std::vector<double> matrix_of(const std::string& name, std::int64_t rows, std::int64_t columns,
                              const Parts& parts, Pretrained& from) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  const auto found = parts.find(name);
  if (found == parts.end()) return values;
  for (const Counterpart* one : found->second) put_part(*one, from.values(*one), columns, values);
  return values;
}

/// Every tensor of a checkpoint of the model: parameters from the folder, and their masters, which
/// have the same numbers before they are rounded; zeros elsewhere.
Written tensors_of_checkpoint(const Program& program, const Parts& parts, Pretrained& from) {
  Written written;
  for (const NamedTensor& named : named_tensors(program)) {
    const Parameter& parameter = program.parameters[named.parameter];
    const Tensor& tensor = program.tensors[named.tensor];
    std::string of_parts = named.name;  // transformers has no states
    if (named.tensor == parameter.master) {
      const std::string& value = program.tensors[parameter.value].name;
      of_parts.resize(of_parts.size() - (tensor.name.size() - value.size()));
    }
    const auto values = matrix_of(of_parts, named.rows, named.columns, parts, from);
    std::string dtype(stored_type(tensor.dtype));
    written.storage.push_back(stored_as(dtype, values));
    written.tensors.push_back(
        {named.name, std::move(dtype), {named.rows, named.columns}, written.storage.back()});
  }
  return written;
}

/// The model as the training that follows reads it from the model file.
Model write_model_file(const Model& model, const std::filesystem::path& path) {
  const std::string text = to_toml(model);
  WrittenFile file(path);
  file.write(std::as_bytes(std::span(text)), "model");
  file.close();
  return load_model(path);
}

}  // namespace

ImportReport import_parameters(const ImportOptions& options) {
  const auto& directory = options.checkpoint;
  if (const auto complete = checkpoints_in(directory); !complete.empty()) {
    throw InputError(fmt::format("{} has checkpoints up to iteration {}: expected another folder",
                                 directory.string(), complete.back()));
  }
  const ConfiguredModel configured = read_config(options.from, options.base);
  const Counterparts list = counterparts(configured.model, configured.family);
  Pretrained from(options.from);
  Parts parts;
  for (const Counterpart& one : list.tensors) {
    if (one.ours.empty()) {
      expect_zeros(one, from);
    } else {
      parts[one.ours].push_back(&one);
    }
  }
  prepare_folder(directory);
  ImportReport report{{}, configured.family, directory / kModelFile, 0};
  report.model = write_model_file(configured.model, report.model_file);
  const Program program = build_iteration(report.model, make_groups(1, 1), 0);
  const Written written = tensors_of_checkpoint(program, parts, from);
  from.expect_all_read();

  CheckpointIndex index;
  index.model = report.model;
  index.layout = to_text(Layout{});
  const auto partial = partial_folder(directory, index.iteration);
  std::filesystem::create_directory(partial);
  index.files[shard_file(0)] = write_safetensors(partial / shard_file(0), written.tensors);
  for (const StoredTensor& tensor : written.tensors) index.file_of[tensor.name] = shard_file(0);
  complete(directory, index);
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    report.parameters += tensor.rows * tensor.columns;
  }
  return report;
}

}  // namespace moe
