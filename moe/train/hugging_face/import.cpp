#include "moe/train/hugging_face/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/input/file_name.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/iteration.h"
#include "moe/model/model_toml.h"
#include "moe/model/published/fitting_class.h"
#include "moe/model/published/read_config.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/checkpoint/written_file.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/elements.h"
#include "moe/train/hugging_face/unfinished_folder.h"

namespace moe {
namespace {

constexpr const char* kTensorsIndex = "model.safetensors.index.json";
constexpr const char* kModelFile = "model.toml";

/// The largest number of a type.
double largest_of(DType dtype) {
  constexpr double kLargestBf16 = 0x1.FEp127;
  if (dtype == DType::f64) return std::numeric_limits<double>::max();
  return dtype == DType::bf16 ? kLargestBf16
                              : static_cast<double>(std::numeric_limits<float>::max());
}

/// The tensors of a folder: one file, or several with an index.
class Pretrained {
 public:
  /// Throws where a file is missing or damaged, or has not what the index says.
  explicit Pretrained(const std::filesystem::path& folder) : folder_(folder) {
    std::error_code none;
    if (!std::filesystem::exists(folder / kTensorsIndex, none)) {
      const SafetensorsFile& all =
          files_.try_emplace(kTensorsFile, folder_ / kTensorsFile).first->second;
      for (const std::string& tensor : all.names()) {
        file_of_[tensor] = kTensorsFile;
        left_.insert(tensor);
      }
      return;
    }
    const std::string index = (folder / kTensorsIndex).string();
    const InputDocument document = parse_json(read_file(index), index, JsonNumbers::python);
    const InputObject map = document.object().object("weight_map", "an object");
    for (const std::string& tensor : map.keys()) {
      const std::string file = map.text(tensor);
      if (!is_name_of_file(file)) map.member(tensor).fail("the name of a file in the same folder");
      const SafetensorsFile& opened = files_.try_emplace(file, folder_ / file).first->second;
      if (!opened.has(tensor)) {
        throw InputError(fmt::format("{}: tensor {}: is not in {}", index,
                                     db::shortened(tensor, 200), db::shortened(file, 200)));
      }
      file_of_[tensor] = file;
      left_.insert(tensor);
    }
    if (!files_.contains(kTensorsFile) && std::filesystem::exists(folder / kTensorsFile, none)) {
      throw InputError(fmt::format(
          "{}: has {}, which transformers reads, and {}, which names other files: expected one",
          folder.string(), kTensorsFile, kTensorsIndex));
    }
  }

  /// Tensors of the files that the index does not name there: it decides, whoever has a copy.
  std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    for (const auto& [name, file] : files_) {
      const std::vector<std::string> all = file.names();
      const auto is_other = [&, &in = name](const std::string& tensor) {
        const auto named = file_of_.find(tensor);
        return named == file_of_.end() || named->second != in;
      };
      const auto others = std::ranges::count_if(all, is_other);
      if (others == 0) continue;
      remarks.push_back(fmt::format(
          "{}: {} of its {} tensors are not read, first {}: {} does not name this file for them",
          (folder_ / name).string(), others, all.size(),
          db::shortened(*std::ranges::find_if(all, is_other), 200), kTensorsIndex));
    }
    return remarks;
  }

  /// Throws where it is missing or has another shape.
  void expect(const Counterpart& one) {
    const auto in = file_of_.find(one.theirs);
    if (in == file_of_.end()) {
      throw InputError(fmt::format("{}: tensor {}: is missing", folder_.string(), one.theirs));
    }
    expect_shape(folder_ / in->second, one.theirs, files_.at(in->second).shape(one.theirs),
                 one.shape);
    left_.erase(one.theirs);
  }
  /// The rows of `one` in a tensor that is expected. Throws for a value that `dtype` does not hold.
  std::vector<double> values(const Counterpart& one, DType dtype) const {
    const std::string& in = file_of_.at(one.theirs);
    const std::filesystem::path file = folder_ / in;
    StoredTensor rows = files_.at(in).tensor(one.theirs);
    const TheirPart region = one.region();
    const auto bytes_of_row =
        static_cast<std::size_t>(one.shape.back() * element_bytes(rows.dtype, file));
    rows.bytes = rows.bytes.subspan(static_cast<std::size_t>(region.first_row) * bytes_of_row,
                                    static_cast<std::size_t>(region.rows) * bytes_of_row);
    std::vector<double> values = elements_of(rows, file);
    const double largest = largest_of(dtype);
    const auto lost =
        std::ranges::find_if(values, [&](double value) { return !(std::abs(value) <= largest); });
    if (lost == values.end()) return values;
    throw InputError(fmt::format("{}: tensor {}: value {} is {}: expected numbers up to {:.4g}",
                                 file.string(), one.theirs, lost - values.begin(), *lost, largest));
  }
  bool has(const std::string& name) const { return file_of_.contains(name); }
  std::size_t size() const { return file_of_.size(); }
  /// Of any tensor that is there.
  std::vector<double> values(const std::string& name) {
    const std::string& in = file_of_.at(name);
    left_.erase(name);
    return elements_of(files_.at(in).tensor(name), folder_ / in);
  }
  const std::vector<std::int64_t>& shape(const std::string& name) const {
    return files_.at(file_of_.at(name)).shape(name);
  }
  /// Those that nothing has asked for.
  std::vector<std::string> left() const { return {left_.begin(), left_.end()}; }
  [[noreturn]] void refuse(const std::string& tensor, const std::string& why) const {
    throw InputError(fmt::format("{}: tensor {}: {}", (folder_ / file_of_.at(tensor)).string(),
                                 db::shortened(tensor, 200), why));
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, SafetensorsFile> files_;
  std::map<std::string, std::string> file_of_;  // by tensor
  std::set<std::string> left_;
};

/// Throws where the experts alone have more matrices than there are tensors. A list of all that a
/// wrong config.json speaks of could be longer than memory.
void expect_enough(const Model& model, const Pretrained& from,
                   const std::filesystem::path& folder) {
  constexpr std::int64_t kMatricesOfExpert = 3;
  std::int64_t blocks = 0;
  for (int block = 0; block < model.blocks; ++block) blocks += has_experts(model, block) ? 1 : 0;
  const std::int64_t matrices = blocks * model.experts * kMatricesOfExpert;
  if (matrices <= static_cast<std::int64_t>(from.size())) return;
  throw InputError(fmt::format("{}: {} experts in each of {} blocks are {} tensors: {} has {}",
                               (folder / kConfigFile).string(), model.experts, blocks, matrices,
                               folder.string(), from.size()));
}

/// The parts of each matrix of ours.
using Parts = std::map<std::string, std::vector<const Counterpart*>>;

/// Throws for a tensor that export writes as zeros and that is not zero in this folder.
void expect_zeros(const Counterpart& one, Pretrained& from) {
  if (!from.has(one.theirs)) return;
  from.expect(one);
  const std::vector<double> values = from.values(one, DType::f64);
  if (std::ranges::all_of(values, [](double value) { return value == 0; })) return;
  throw InputError(
      fmt::format("tensor {}: a gate of shared experts has no counterpart here: "
                  "expected zeros, or no shared experts",
                  one.theirs));
}

/// Where the head is the token table, transformers leaves a head of its own aside: they must be one.
void expect_tied_head(Pretrained& from) {
  const std::string head = "lm_head.weight", table = "model.embed_tokens.weight";
  if (!from.has(head)) return;
  const std::vector<double> ours = from.values(table), theirs = from.values(head);
  const auto [a, b] = std::ranges::mismatch(theirs, ours);
  if (a == theirs.end() && from.shape(head) == from.shape(table)) return;
  const std::string values =
      a == theirs.end() || b == ours.end()
          ? "another shape than"
          : fmt::format("{:.9g} at {}, where {:.9g} stands in", *a, a - theirs.begin(), *b);
  from.refuse(head, fmt::format("has {} {}: with tie_word_embeddings = true expected the same, or "
                                "tie_word_embeddings = false for a head of its own",
                                values, table));
}

/// Frequencies of the angles, which old files have beside the weights, follow from the base.
void expect_frequencies(const Model& model, const std::string& name, Pretrained& from) {
  constexpr double kRounding = 0.01;  // to bf16
  const std::vector<double> values = from.values(name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected =
        std::pow(model.rotary_base, -static_cast<double>(i) / static_cast<double>(values.size()));
    if (std::abs(values[i] - expected) <= kRounding * expected) continue;
    from.refuse(name, fmt::format("has {:.6g} at {}: expected {:.6g}, as follows from rope_theta = "
                                  "{:g}",
                                  values[i], i, expected, model.rotary_base));
  }
}

/// Throws for a tensor that is there and of which the model knows nothing.
void expect_no_more(const Model& model, Pretrained& from) {
  if (model.head == Head::tied) expect_tied_head(from);
  for (const std::string& name : from.left()) {
    if (name.ends_with("rotary_emb.inv_freq")) {
      expect_frequencies(model, name, from);
      continue;
    }
    from.refuse(name,
                fmt::format("has no counterpart in the model that {} describes", kConfigFile));
  }
}

/// Puts a part of a tensor of theirs into its place in ours. `theirs` begins with the part's first
/// row.
void put_part(const Counterpart& one, const std::vector<double>& theirs, std::int64_t stride,
              std::vector<double>& ours) {
  TheirPart region = one.region();
  region.first_row = 0;
  for (std::int64_t r = 0; r < region.rows; ++r) {
    for (std::int64_t c = 0; c < region.columns; ++c) {
      ours[static_cast<std::size_t>(one.place(r, c, stride))] =
          theirs[static_cast<std::size_t>(region.place(r, c, one.shape.back()))] / one.factor;
    }
  }
}

/// The whole matrix that `parts` make; zeros where there are none.
std::vector<double> matrix_of(const std::string& name, std::int64_t rows, std::int64_t columns,
                              DType dtype, const Parts& parts, const Pretrained& from) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  const auto found = parts.find(name);
  if (found == parts.end()) return values;
  for (const Counterpart* one : found->second) {
    put_part(*one, from.values(*one, dtype), columns, values);
  }
  return values;
}

/// Every tensor of a checkpoint of the model: parameters from the folder, and their masters, which
/// have the same numbers before they are rounded; zeros elsewhere. Each is read when it is written.
/// Valid as long as `parts` and `from`.
std::vector<MadeTensor> tensors_of_checkpoint(const Program& program, const Parts& parts,
                                              const Pretrained& from) {
  std::vector<MadeTensor> made;
  for (const NamedTensor& named : named_tensors(program)) {
    const Parameter& parameter = program.parameters[named.parameter];
    std::string of_parts = named.name;  // transformers has no states
    if (named.tensor == parameter.remainder) of_parts.resize(of_parts.size() - kMaster.size());
    const std::string dtype(stored_type(named.dtype));
    const auto make = [&parts, &from, of_parts, dtype, rows = named.rows, columns = named.columns,
                       type = named.dtype] {
      return stored_as(dtype, matrix_of(of_parts, rows, columns, type, parts, from));
    };
    made.push_back({named.name, dtype, {named.rows, named.columns}, make});
  }
  return made;
}

/// Gone at the end, where it still has this name.
struct RemovedFolder {
  std::filesystem::path path;
  ~RemovedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Throws where the folder has another model file, which is not ours to replace.
void expect_no_other(const std::filesystem::path& model_file, const std::string& text) {
  std::error_code none;
  if (!std::filesystem::exists(model_file, none) || read_file(model_file) == text) return;
  throw InputError(
      fmt::format("{}: exists already, and is another model: expected a folder without it",
                  model_file.string()));
}

/// The model as the training that follows reads it from the model file.
Model write_model_file(const std::string& text, const std::filesystem::path& path) {
  WrittenFile file(path);
  file.write(std::as_bytes(std::span(text)), "model");
  file.close();
  return load_model(path);
}

/// The model of the folder under the settings. Throws where these make it another than its class has.
ConfiguredModel configured_model(const ImportOptions& options) {
  ConfiguredModel configured = read_config(options.from, options.base);
  const std::string file = (options.from / kConfigFile).string();
  configured.model = load_model(configured.model, file, options.settings);
  Model dropless = configured.model;  // a capacity is the training's own
  dropless.capacity_factor.reset();
  const auto unmatched = unmatched_key(dropless, *configured.of);
  if (!unmatched) return configured;
  throw InputError(
      fmt::format("{}: is of class {}, which has no {}: expected {}; --set changes keys "
                  "of the model",
                  file, configured.of->name, unmatched->key, unmatched->expected));
}

}  // namespace

ImportReport import_parameters(const ImportOptions& options) {
  const auto& directory = options.checkpoint;
  if (const auto complete = checkpoints_in(directory); !complete.empty()) {
    throw InputError(fmt::format("{} has checkpoints up to iteration {}: expected another folder",
                                 directory.string(), complete.back()));
  }
  const ConfiguredModel configured = configured_model(options);
  Pretrained from(options.from);
  expect_enough(configured.model, from, options.from);
  const Counterparts list = counterparts(configured.model, *configured.of);
  Parts parts;
  for (const Counterpart& one : list.tensors) {
    if (one.ours.empty()) {
      expect_zeros(one, from);
    } else {
      from.expect(one);
      parts[one.ours].push_back(&one);
    }
  }
  ImportReport report{{}, configured.of, directory / kModelFile, 0, from.remarks()};
  for (const std::string& remark : configured.remarks) report.remarks.push_back(remark);
  if (!configured.left_aside.empty()) {
    report.remarks.push_back(
        fmt::format("{}: change nothing of what is computed, and are left aside: {}", kConfigFile,
                    fmt::join(configured.left_aside, ", ")));
  }
  const std::string text = to_toml(configured.model);
  expect_no_other(report.model_file, text);
  const auto lock = prepare_folder(directory, 0);
  const UnfinishedFolder unfinished(directory);
  report.model = write_model_file(text, unfinished.path() / kModelFile);
  const Program program = build_iteration(report.model, make_groups(1, 1), 0);
  expect_no_more(report.model, from);
  const std::vector<MadeTensor> tensors = tensors_of_checkpoint(program, parts, from);

  CheckpointIndex index;
  index.model = report.model;
  index.layout = to_text(Layout{});
  const auto partial = partial_folder(directory, index.iteration);
  std::filesystem::create_directory(partial);
  const RemovedFolder unless_renamed{partial};
  index.files[shard_file(0)] = write_safetensors(partial / shard_file(0), tensors);
  for (const MadeTensor& tensor : tensors) index.file_of[tensor.name] = shard_file(0);
  std::filesystem::rename(unfinished.path() / kModelFile, report.model_file);
  complete(directory, index);
  report.parameters = count_parameters(program, configured.of->counts_router_bias);
  return report;
}

}  // namespace moe
