#include "moe/train/hugging_face/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "db/console/exit_codes.h"
#include "db/console/format_rows.h"
#include "db/console/output_error.h"
#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/model/iteration.h"
#include "moe/model/model_toml.h"
#include "moe/model/published/fitting_class.h"
#include "moe/model/published/read_config.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/checkpoint/written_file.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/matrix_pieces.h"
#include "moe/train/hugging_face/pretrained.h"
#include "moe/train/hugging_face/unfinished_folder.h"
#include "moe/train/hugging_face/unfinished_import.h"

namespace moe {
namespace {

constexpr const char* kModelFile = "model.toml";

/// Throws where the first router has another number of experts than config.json. A list of all
/// experts that a wrong one speaks of could be longer than memory.
void expect_experts(const ConfiguredModel& configured, Pretrained& from) {
  const Model& model = configured.model;
  const TensorNames* names = configured.of->tensors;
  if (names == nullptr || blocks_with_experts(model) == 0) return;
  int block = 0;
  while (!has_experts(model, block)) ++block;
  from.expect({fmt::format("model.layers.{}.{}{}weight", block, names->mixture, names->router),
               {model.experts, model.d_model},
               "gate.weight"});
}

/// The parts of each matrix of ours.
using Parts = std::map<std::string, std::vector<const Counterpart*>>;

/// Throws for a tensor that export writes as zeros and that is not zero in this folder.
void expect_zeros(const Counterpart& one, Pretrained& from) {
  if (!from.has(one.theirs)) return;
  from.expect(one);
  const std::vector<double> values = from.values(one.theirs);
  if (std::ranges::all_of(values, [](double value) { return value == 0; })) return;
  throw InputError(
      fmt::format("tensor {}: a gate of shared experts has no counterpart here: "
                  "expected zeros, or no shared experts",
                  one.theirs));
}

/// Where the head is the token table, transformers leaves a head of its own aside: they must be
/// one.
void expect_tied_head(Pretrained& from) {
  const std::string head = "lm_head.weight", table = "model.embed_tokens.weight";
  if (!from.has(head)) return;
  const std::optional<std::string> other = from.difference(head, table);
  if (!other) return;
  from.refuse(head, fmt::format("has {} {}: with tie_word_embeddings = true expected the same, or "
                                "tie_word_embeddings = false for a head of its own",
                                other->empty() ? "another shape than" : *other, table));
}

/// Frequencies of the angles, which old files have beside the weights, follow from the base.
void expect_frequencies(const Model& model, const std::string& name, Pretrained& from) {
  constexpr double kRounding = 0.01;  // to bf16
  const std::vector<double> values = from.values(name);
  const std::int64_t pairs = rotary_angles(model).columns / 2;
  if (std::ssize(values) != pairs) {
    from.refuse(name, fmt::format("has {} values: expected {}, one for each pair of columns",
                                  values.size(), pairs));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected =
        std::pow(model.rotary_base, -static_cast<double>(i) / static_cast<double>(values.size()));
    if (std::abs(values[i] - expected) <= kRounding * expected) continue;
    from.refuse(name, fmt::format("has {:.6g} at {}: expected {:.6g}, as follows from rope_theta = "
                                  "{:g}",
                                  values[i], i, expected, model.rotary_base));
  }
}

/// Whether the tensor is of one of the layers that predict further tokens.
bool is_of_further_layer(const std::string& name, const ConfiguredModel& configured) {
  if (configured.further_layers == 0) return false;
  for (const char* begin : {"mtp.", "model.mtp", "mtp_"}) {
    if (name.starts_with(begin)) return true;
  }
  for (std::int64_t i = 0; i < configured.further_layers; ++i) {
    if (name.starts_with(fmt::format("model.layers.{}.", configured.model.blocks + i))) return true;
  }
  return false;
}

/// Throws for a tensor that is there and of which the model knows nothing. Those of layers that
/// predict further tokens are left aside, as transformers does, and counted.
std::vector<std::string> expect_no_more(const ConfiguredModel& configured, Pretrained& from) {
  const Model& model = configured.model;
  if (model.head == Head::tied) expect_tied_head(from);
  std::vector<std::string> further;
  for (const std::string& name : from.left()) {
    if (is_of_further_layer(name, configured)) {
      further.push_back(name);
    } else if (name.ends_with("rotary_emb.inv_freq")) {
      expect_frequencies(model, name, from);
    } else {
      from.refuse(name,
                  fmt::format("has no counterpart in the model that {} describes", kConfigFile));
    }
  }
  if (further.empty()) return {};
  return {
      fmt::format("{} tensors are left aside, first {}: they are of layers that predict "
                  "further tokens, of which transformers loads none",
                  further.size(), further.front())};
}

/// Every tensor that a checkpoint of the model must have: parameters, and masters where these are
/// not the parameters. Each is read when it is written. Valid as long as `parts` and `from`.
std::vector<MadeTensor> tensors_of_checkpoint(const Program& program, const Parts& parts,
                                              const Pretrained& from, std::int64_t& bytes_read) {
  std::vector<MadeTensor> made;
  for (const NamedTensor& named : named_tensors(program)) {
    const bool is_master = named.tensor == program.parameters[named.parameter].remainder;
    if (!named.state_of.empty() && !is_master) continue;
    const auto found = parts.find(is_master ? named.state_of : named.name);
    MadeMatrix matrix{named.rows, named.columns, named.dtype};
    if (found != parts.end()) matrix.parts = found->second;
    if (is_master && is_not_rounded(matrix.parts, from)) continue;
    made.push_back({named.name,
                    std::string(stored_type(named.dtype)),
                    {named.rows, named.columns},
                    [&from, &bytes_read, matrix](const BytesTaker& take) {
                      make_in_pieces(matrix, from, take);
                      for (const Counterpart* one : matrix.parts) {
                        const TheirPart part = one->region();
                        bytes_read +=
                            bytes_of_tensor(from.dtype(one->theirs), {part.rows, part.columns},
                                            from.path_of(one->theirs));
                      }
                    }});
  }
  return made;
}

/// One file of the checkpoint.
struct CheckpointPart {
  std::string file;
  std::vector<MadeTensor> tensors;
  std::int64_t bytes = 0;  ///< of tensors

  bool has_names(const SafetensorsFile& written) const {
    return written.size() == tensors.size() &&
           std::ranges::all_of(tensors,
                               [&](const MadeTensor& one) { return written.has(one.name); });
  }
};

std::vector<CheckpointPart> parts_of_checkpoint(std::vector<MadeTensor> tensors,
                                                std::int64_t most_bytes) {
  std::vector<CheckpointPart> parts;
  for (MadeTensor& tensor : tensors) {
    const std::int64_t bytes = bytes_of_tensor(tensor.dtype, tensor.shape, tensor.name);
    if (parts.empty() || parts.back().bytes + bytes > most_bytes) {
      parts.push_back({fmt::format("part-{:05}.safetensors", parts.size()), {}, 0});
    }
    parts.back().bytes += bytes;
    parts.back().tensors.push_back(std::move(tensor));
  }
  return parts;
}

/// Whether an earlier import has written the file.
bool is_written(const CheckpointPart& part, const UnfinishedImport& unfinished) {
  const auto seal = unfinished.complete().find(part.file);
  if (seal == unfinished.complete().end()) return false;
  try {
    return part.has_names(SafetensorsFile(unfinished.folder() / part.file, seal->second));
  } catch (const InputError&) {
    return false;  // somebody has changed it
  }
}

/// Throws where the disk has no room for what is not written yet.
void expect_room(const std::filesystem::path& directory, const std::vector<CheckpointPart>& parts) {
  constexpr std::int64_t kOfEachTensor = 1024;  // in a header and in the index
  std::int64_t needed = 0;
  for (const CheckpointPart& part : parts) {
    needed += part.bytes + std::ssize(part.tensors) * kOfEachTensor;
  }
  std::error_code unknown;
  const auto room = std::filesystem::space(directory, unknown);
  if (unknown || needed <= static_cast<std::int64_t>(room.available)) return;
  throw db::OutputError(
      fmt::format("{}: {} are needed, {} are free on its disk", directory.string(),
                  db::format_cell("bytes", needed),
                  db::format_cell("bytes", static_cast<std::int64_t>(room.available))),
      db::kExitFailed);
}

/// Writes the files that are not there yet, and returns all.
std::map<std::string, FileSeal> write_parts(const std::vector<CheckpointPart>& parts,
                                            UnfinishedImport& unfinished,
                                            const ImportOptions& options, ImportProgress& done,
                                            const std::int64_t& bytes_read) {
  const auto begin = std::chrono::steady_clock::now();
  const auto tell = [&] {
    done.bytes_read = bytes_read;
    done.duration_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    options.progress(done);
  };
  std::vector<CheckpointPart> missing;
  std::map<std::string, FileSeal> seals;
  for (const CheckpointPart& part : parts) {
    if (!is_written(part, unfinished)) {
      std::filesystem::remove(unfinished.folder() / part.file);
      missing.push_back(part);
      continue;
    }
    seals[part.file] = unfinished.complete().at(part.file);
    done.bytes_complete += seals[part.file].bytes;
    ++done.files;
  }
  done.of_files = static_cast<int>(parts.size());
  expect_room(options.checkpoint, missing);
  if (done.files > 0) tell();
  for (const CheckpointPart& part : missing) {
    try {
      seals[part.file] = write_safetensors(unfinished.folder() / part.file, part.tensors);
    } catch (const InputError&) {
      unfinished.discard();  // the source is of no use
      throw;
    }
    unfinished.add(part.file, seals[part.file]);
    done.bytes_written += seals[part.file].bytes;
    done.bytes_complete += seals[part.file].bytes;
    ++done.files;
    tell();
  }
  return seals;
}

/// Throws where the folder has another model file, which is not ours to replace.
void expect_no_other(const std::filesystem::path& model_file, const std::string& text) {
  std::error_code none;
  if (!std::filesystem::exists(model_file, none) || read_file(model_file) == text) return;
  throw InputError(
      fmt::format("{}: exists already, and is another model: expected a folder without it",
                  model_file.string()));
}

void write_model_file(const std::string& text, const std::filesystem::path& path) {
  std::filesystem::remove(path);
  write_text(path, text, "model");
}

/// The model as the training that follows reads it from the model file.
Model as_training_reads(const std::string& text, const std::filesystem::path& directory) {
  const UnfinishedFolder folder(directory);
  write_model_file(text, folder.path() / kModelFile);
  return load_model(folder.path() / kModelFile);
}

/// The model of the folder under the settings. Throws where these make it another than its class
/// has.
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
  expect_experts(configured, from);
  const Counterparts list = counterparts(configured.model, *configured.of, configured.turns_halves);
  Parts parts;
  for (const Counterpart& one : list.tensors) {
    if (one.ours.empty()) {
      expect_zeros(one, from);
    } else {
      from.expect(one);
      parts[one.ours].push_back(&one);
    }
  }
  ImportReport report{{}, configured.of, directory / kModelFile, 0, from.remarks(), {}};
  for (std::string& line : said_of(configured)) report.remarks.push_back(std::move(line));
  for (std::string& line : expect_no_more(configured, from)) {
    report.remarks.push_back(std::move(line));
  }
  const std::string text = to_toml(configured.model);
  expect_no_other(report.model_file, text);
  const auto lock = prepare_folder(directory, 0);
  report.model = as_training_reads(text, directory);
  const Program program = build_iteration(report.model, make_groups(1, 1), 0);
  std::int64_t bytes_read = 0;
  const std::vector<CheckpointPart> files = parts_of_checkpoint(
      tensors_of_checkpoint(program, parts, from, bytes_read), options.file_bytes);

  UnfinishedImport unfinished(import_folder(directory), {report.model, from.files()});
  CheckpointIndex index;
  index.model = report.model;
  index.layout = to_text(Layout{});
  index.has_initial_states = true;
  index.files = write_parts(files, unfinished, options, report.done, bytes_read);
  for (const CheckpointPart& file : files) {
    for (const MadeTensor& tensor : file.tensors) index.file_of[tensor.name] = file.file;
  }
  write_model_file(text, unfinished.folder() / kModelFile);
  std::filesystem::rename(unfinished.folder() / kModelFile, report.model_file);
  std::filesystem::remove(unfinished.folder() / kIndexFile);  // of an import that was ended here
  complete(directory, index, unfinished.folder());
  unfinished.release();
  report.parameters = published_parameters(report.model, *configured.of);
  return report;
}

}  // namespace moe
