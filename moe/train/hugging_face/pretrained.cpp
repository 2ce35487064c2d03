#include "moe/train/hugging_face/pretrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>

#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/input/file_name.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/published/read_config.h"
#include "moe/train/hugging_face/elements.h"

namespace moe {
namespace {

constexpr const char* kTensorsIndex = "model.safetensors.index.json";

/// Throws where there are parameters in another format alone.
void expect_tensors(const std::filesystem::path& folder) {
  std::error_code none;
  if (std::filesystem::exists(folder / kTensorsFile, none)) return;
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!std::filesystem::exists(folder / other, none)) continue;
    throw InputError(
        fmt::format("{}: has {}, which nothing here reads: expected {}, as "
                    "model.save_pretrained of transformers writes it",
                    folder.string(), other, kTensorsFile));
  }
}

}  // namespace

Pretrained::Pretrained(const std::filesystem::path& folder) : folder_(folder) {
  std::error_code none;
  if (!std::filesystem::exists(folder / kTensorsIndex, none)) {
    expect_tensors(folder);
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
      throw InputError(fmt::format("{}: tensor {}: is not in {}", index, db::shortened(tensor, 200),
                                   db::shortened(file, 200)));
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

std::vector<std::string> Pretrained::remarks() const {
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

std::map<std::string, SourceFile> Pretrained::files() const {
  std::map<std::string, SourceFile> files;
  for (const auto& [name, file] : files_) {
    const auto modified = std::filesystem::last_write_time(folder_ / name).time_since_epoch();
    files[name] = {file.seal(),
                   std::chrono::duration_cast<std::chrono::nanoseconds>(modified).count()};
  }
  return files;
}

void Pretrained::expect(const Counterpart& one) {
  const auto in = file_of_.find(one.theirs);
  if (in == file_of_.end()) {
    throw InputError(fmt::format("{}: tensor {}: is missing", folder_.string(), one.theirs));
  }
  expect_shape(folder_ / in->second, one.theirs, files_.at(in->second).shape(one.theirs),
               one.shape);
  if (!has_numbers(dtype(one.theirs))) {
    refuse(one.theirs, fmt::format("is {}: expected F64, F32, BF16 or F16", dtype(one.theirs)));
  }
  left_.erase(one.theirs);
}

std::vector<double> Pretrained::values(const std::string& name) {
  left_.erase(name);
  return elements_of(tensor(name), path_of(name));
}

std::optional<std::string> Pretrained::difference(const std::string& one,
                                                  const std::string& other) {
  left_.erase(one);
  left_.erase(other);
  if (shape(one) != shape(other)) return "";
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  const StoredTensor &a = tensor(one), &b = tensor(other);
  const std::size_t width = static_cast<std::size_t>(element_bytes(a.dtype, path_of(one))),
                    other_width = static_cast<std::size_t>(element_bytes(b.dtype, path_of(other))),
                    elements = a.bytes.size() / width;
  std::vector<double> ours(kAtOnce), theirs(kAtOnce);
  for (std::size_t first = 0; first < elements; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, elements - first);
    ours.resize(count);
    theirs.resize(count);
    read_elements(a, path_of(one), first, ours);
    read_elements(b, path_of(other), first, theirs);
    const auto [x, y] = std::ranges::mismatch(ours, theirs);
    if (x != ours.end()) {
      return fmt::format("{:.9g} at {}, where {:.9g} stands in", *x,
                         first + static_cast<std::size_t>(x - ours.begin()), *y);
    }
    forget(one, a.bytes.subspan(first * width, count * width));
    forget(other, b.bytes.subspan(first * other_width, count * other_width));
  }
  return std::nullopt;
}

void Pretrained::refuse(const std::string& tensor, const std::string& why) const {
  throw InputError(
      fmt::format("{}: tensor {}: {}", path_of(tensor).string(), db::shortened(tensor, 200), why));
}

}  // namespace moe
