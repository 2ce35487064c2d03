#include "moe/train/hugging_face/unfinished_import.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "db/console/output_target.h"
#include "moe/errors.h"
#include "moe/input/file_name.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/model_json.h"
#include "moe/train/checkpoint/index.h"
#include "moe/train/checkpoint/written_file.h"

namespace moe {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kImportFile = "import.json";
constexpr const char* kNextFile = "import.json.next";
constexpr int kImportVersion = 1;

Json json_of(const FileSeal& seal) {
  return {{"bytes", seal.bytes}, {"header_checksum", seal.header_checksum}};
}
FileSeal seal_from(const InputObject& object) {
  return {object.integer("bytes", 0), object.text("header_checksum")};
}

/// What import.json says.
struct Record {
  ImportSource source;
  std::map<std::string, FileSeal> complete;
};

Record read_record(const std::filesystem::path& file) {
  const InputDocument document = parse_json(read_file(file), file.string());
  const InputObject root = document.object();
  const InputValue version = root.member("moelab_import", "the record of an import");
  if (version.integer(0) != kImportVersion) version.fail(fmt::format("format {}", kImportVersion));
  Record record;
  record.source.model = model_from_json(root.object("model"));
  const InputObject from = root.object("made_of");
  for (const std::string& name : from.keys()) {
    const InputObject one = from.object(name);
    record.source.files[name] = {seal_from(one), one.integer("modified_ns", -kAnyInteger)};
  }
  const InputObject complete = root.object("complete");
  for (const std::string& name : complete.keys()) {
    if (!is_name_of_file(name)) complete.refuse(name, "expected the name of a file here");
    record.complete[name] = seal_from(complete.object(name));
  }
  document.no_other_keys();
  return record;
}

/// What differs, "" where nothing does.
std::string difference(const ImportSource& then, const ImportSource& now) {
  for (const KeyDifference& one : differing_keys(then.model, now.model)) {
    return fmt::format("{} was {}, and is {}", one.key, one.first, one.second);
  }
  for (const auto& [name, file] : then.files) {
    const auto same = now.files.find(name);
    if (same == now.files.end()) return name + " is not there any more";
    if (file.seal.bytes != same->second.seal.bytes) {
      return fmt::format("{} had {} bytes, and has {}", name, file.seal.bytes,
                         same->second.seal.bytes);
    }
    if (file != same->second) return name + " was written again since";
  }
  for (const auto& [name, file] : now.files) {
    if (!then.files.contains(name)) return name + " was not there";
  }
  return "";
}

/// A folder in which nothing is complete. Throws InputError for one that no import made.
void remove_own(const std::filesystem::path& folder) {
  std::error_code none;
  std::filesystem::remove(folder / kNextFile, none);  // of one that was ended early
  const bool is_own = !std::filesystem::exists(folder, none) ||
                      std::filesystem::exists(folder / kImportFile, none) ||
                      std::filesystem::is_empty(folder, none);
  if (!is_own) {
    throw InputError(fmt::format(
        "{}: is there, and no import made it: expected a folder without it", folder.string()));
  }
  std::error_code failed;
  std::filesystem::remove_all(folder, failed);
  if (failed) throw db::open_error(folder.string(), failed.value());
}

}  // namespace

UnfinishedImport::UnfinishedImport(std::filesystem::path folder, const ImportSource& source)
    : folder_(std::move(folder)), source_(source) {
  std::error_code none;
  if (std::filesystem::exists(folder_ / kImportFile, none)) {
    const std::string way_out =
        fmt::format("remove {} to begin anew, or give the same again", folder_.string());
    Record record;
    try {
      record = read_record(folder_ / kImportFile);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", error.what(), way_out));
    }
    if (!record.complete.empty()) {
      const std::string differs = difference(record.source, source_);
      if (!differs.empty()) {
        throw InputError(fmt::format("{}: is of an import that was not ended: {}: {}",
                                     folder_.string(), differs, way_out));
      }
      complete_ = std::move(record.complete);
    }
  }
  if (complete_.empty()) remove_own(folder_);
  make_folder(folder_);
  write();
}

UnfinishedImport::~UnfinishedImport() {
  std::error_code ignored;
  if (!folder_.empty() && complete_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void UnfinishedImport::add(const std::string& file, const FileSeal& seal) {
  complete_[file] = seal;
  write();
}

void UnfinishedImport::write() const {
  Json files = Json::object(), complete = Json::object();
  for (const auto& [name, file] : source_.files) {
    files[name] = json_of(file.seal);
    files[name]["modified_ns"] = file.modified;
  }
  for (const auto& [name, seal] : complete_) complete[name] = json_of(seal);
  const Json all{{"moelab_import", kImportVersion},
                 {"model", Json::parse(to_json(source_.model))},
                 {"made_of", std::move(files)},
                 {"complete", std::move(complete)}};
  const std::string text = all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  // Whenever this process ends, one of both is whole.
  const auto next = folder_ / kNextFile;
  std::filesystem::remove(next);
  write_text(next, text, "record of the import");
  std::filesystem::rename(next, folder_ / kImportFile);
  sync_folder(folder_);
}

}  // namespace moe
