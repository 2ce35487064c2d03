#include "moe/train/checkpoint/index.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/model/model_json.h"
#include "moe/train/checkpoint/checksum.h"

namespace moe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

/// Names of files may be bytes that are no text.
std::string in_utf8(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string checksum_of(const Json& json) {
  const std::string text = in_utf8(json, -1);
  return checksum_text(checksum(std::as_bytes(std::span(text))));
}

CheckpointIndex index_from(const Json& json, const std::string& file) {
  CheckpointIndex index;
  index.iteration = json.at("iteration").get<int>();
  index.model = model_from_json(json.at("model").dump(), file);
  index.layout = json.at("layout").get<std::string>();
  const auto fingerprint = json.at("corpus_fingerprint").get<std::string>();
  std::from_chars(fingerprint.data(), fingerprint.data() + fingerprint.size(),
                  index.corpus_fingerprint, 16);
  if (json.contains("cursors")) {
    for (const Json& one : json["cursors"]) {
      SourceCursor& cursor = index.cursors.emplace_back();
      cursor.name = one.at("source").get<std::string>();
      cursor.drawn = one.at("drawn").get<std::int64_t>();
      cursor.number = static_cast<std::int64_t>(index.cursors.size()) - 1;
      if (!one.contains("identity")) continue;  // written by an earlier version
      const auto identity = one["identity"].get<std::string>();
      std::from_chars(identity.data(), identity.data() + identity.size(), cursor.identity, 16);
      cursor.number = one.at("number").get<std::int64_t>();
    }
  }
  index.schedule = schedule_from_json(json.at("schedule").dump());
  if (json.contains("outliers")) {
    const Json& outliers = json["outliers"];
    index.outliers = {outliers.at("losses").get<std::vector<double>>(),
                      outliers.at("gradient_norms").get<std::vector<double>>(),
                      outliers.at("skipped").get<std::int64_t>()};
  }
  for (const auto& [name, seal] : json.at("files").items()) {
    index.files[name] = {seal.at("bytes").get<std::int64_t>(),
                         seal.at("header_checksum").get<std::string>()};
  }
  for (const auto& [name, in] : json.at("weight_map").items())
    index.file_of[name] = in.get<std::string>();
  return index;
}

}  // namespace

std::string to_text(const CheckpointIndex& index) {
  Json schedule = Json::parse(to_json(index.schedule));
  if (index.schedule.planner.empty()) schedule.erase("planner");  // of a file that names none
  Json files = Json::object(), weight_map = Json::object();
  for (const auto& [name, seal] : index.files) {
    files[name] = {{"bytes", seal.bytes}, {"header_checksum", seal.header_checksum}};
  }
  for (const auto& [name, file] : index.file_of) weight_map[name] = file;
  Json content{{"iteration", index.iteration},
               {"model", Json::parse(to_json(index.model))},
               {"layout", index.layout},
               {"corpus_fingerprint", checksum_text(index.corpus_fingerprint)},
               {"schedule", schedule},
               {"files", files},
               {"weight_map", weight_map}};
  for (const SourceCursor& one : index.cursors) {
    content["cursors"].push_back({{"source", one.name},
                                  {"drawn", one.drawn},
                                  {"identity", checksum_text(one.identity)},
                                  {"number", one.number}});
  }
  if (index.model.outlier_z_score) {
    content["outliers"] = {{"losses", index.outliers.losses},
                           {"gradient_norms", index.outliers.gradient_norms},
                           {"skipped", index.outliers.skipped}};
  }
  const Json whole{
      {"moelab_checkpoint", kVersion}, {"checksum", checksum_of(content)}, {"content", content}};
  return in_utf8(whole, 1) + "\n";
}

CheckpointIndex read_index(const std::filesystem::path& folder) {
  const std::string file = (folder / kIndexFile).string();
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: {}", file, why));
  };
  const Json json = Json::parse(read_file(file), nullptr, false);
  if (!json.is_object() || !json.contains("moelab_checkpoint") || !json.contains("content") ||
      !json.contains("checksum")) {
    refuse("is not the index of a checkpoint, or is cut short");
  }
  if (json["moelab_checkpoint"] != kVersion) {
    refuse(fmt::format("format {}: expected {}", json["moelab_checkpoint"].dump(), kVersion));
  }
  if (json["checksum"] != checksum_of(json["content"])) {
    refuse("its content is not what was written");
  }
  try {
    return index_from(json["content"], file);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace moe
