#include "moe/train/checkpoint/index.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "db/console/shown_text.h"
#include "moe/errors.h"
#include "moe/input/file_name.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/model_json.h"
#include "moe/passes/read_schedule.h"
#include "moe/train/checkpoint/checksum.h"

namespace moe {
namespace {

using Json = nlohmann::ordered_json;

// The second one may leave states out. It is written where it does.
constexpr int kVersion = 1, kWithInitialStates = 2;
constexpr const char* kInitial = "initial";
constexpr std::int64_t kMostIndexBytes = std::int64_t{1} << 30;  // ten million tensors
constexpr double kLargest = std::numeric_limits<double>::max();

/// Names of files may be bytes that are no text.
std::string in_utf8(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// JSON without the blanks between its parts, as `in_utf8` writes it without lines.
std::string without_blanks(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  bool in_text = false, is_escaped = false;
  for (const char c : json) {
    if (in_text) {
      in_text = is_escaped || c != '"';
      is_escaped = !is_escaped && c == '\\';
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      continue;
    } else {
      in_text = c == '"';
    }
    result += c;
  }
  return result;
}

/// Throws where the content is not that of which the checksum was taken.
void expect_unchanged(const std::string& text, const InputObject& root, std::int64_t version) {
  const std::string told = root.text("checksum", "a checksum");
  const std::string whole = without_blanks(text);
  const std::string before =
      fmt::format(R"({{"moelab_checkpoint":{},"checksum":"{}","content":)", version, told);
  const bool in_order = whole.size() > before.size() && whole.starts_with(before);
  if (in_order && checksum_of_text(std::string_view(whole).substr(
                      before.size(), whole.size() - before.size() - 1)) == told) {
    return;
  }
  root.refuse("content", "is not what was written");
}

std::uint64_t read_fingerprint(const InputValue& value) {
  constexpr std::string_view expected = "16 hexadecimal digits";
  const std::string text = value.text(expected);
  std::uint64_t fingerprint = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), fingerprint, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size()) {
    value.fail(expected);
  }
  return fingerprint;
}

std::vector<double> read_numbers(const InputObject& object, std::string_view key) {
  std::vector<double> numbers;
  for (const InputValue& value : object.list(key, "a list of numbers")) {
    numbers.push_back(value.number(-kLargest, kLargest, "a number"));
  }
  return numbers;
}

CheckpointIndex index_from(const InputObject& content, std::int64_t version) {
  CheckpointIndex index;
  index.iteration =
      static_cast<int>(content.integer("iteration", 0, std::numeric_limits<int>::max() - 1));
  index.model = model_from_json(content.object("model"));
  index.layout = content.text("layout");
  index.corpus_fingerprint =
      read_fingerprint(content.member("corpus_fingerprint", "16 hexadecimal digits"));
  if (content.has("cursors")) {
    for (const InputValue& one : content.list("cursors")) {
      const InputObject object = one.object();
      SourceCursor& cursor = index.cursors.emplace_back();
      cursor.name = object.text("source");
      cursor.drawn = object.integer("drawn", 0);
      cursor.number = static_cast<std::int64_t>(index.cursors.size()) - 1;
      if (!object.has("identity")) continue;  // written by an earlier version
      cursor.identity = read_fingerprint(object.member("identity", "16 hexadecimal digits"));
      cursor.number = object.integer("number", 0, kAnyInteger - 1);
      const auto in_order = object.optional_member("in_order");
      cursor.in_order = in_order && in_order->boolean();
    }
  }
  index.schedule = read_schedule(content.object("schedule"));
  if (content.has("outliers")) {
    const InputObject outliers = content.object("outliers");
    index.outliers = {read_numbers(outliers, "losses"), read_numbers(outliers, "gradient_norms"),
                      outliers.integer("skipped", 0)};
  }
  if (content.has("run")) {
    const InputObject run = content.object("run");
    index.run = {run.number("started_at", 0, kLargest, "seconds"), run.integer("pid", 0),
                 run.text("host")};
  }
  if (content.has("log")) {
    const InputObject log = content.object("log");
    index.log = {log.integer("bytes", 0),
                 read_fingerprint(log.member("line", "16 hexadecimal digits"))};
  }
  if (version == kWithInitialStates) {
    if (content.text("states") != kInitial) content.member("states").fail("\"initial\"");
    index.has_initial_states = true;
  }
  const InputObject files = content.object("files");
  for (const std::string& name : files.keys()) {
    if (!is_name_of_file(name)) files.refuse(name, "expected the name of a file in this folder");
    const InputObject seal = files.object(name);
    index.files[name] = {seal.integer("bytes", 0), seal.text("header_checksum")};
  }
  const InputObject weight_map = content.object("weight_map");
  for (const std::string& name : weight_map.keys()) {
    const InputValue file = weight_map.member(name);
    const std::string in = file.text("the name of a file");
    if (!index.files.contains(in)) file.fail("one of the files that the index lists");
    index.file_of[name] = in;
  }
  return index;
}

}  // namespace

std::string to_text(const CheckpointIndex& index) {
  Json schedule = Json::parse(to_json(index.schedule));
  if (index.schedule.planner.empty()) schedule.erase("planner");  // of a file that names none
  Json files = Json::object();
  for (const auto& [name, seal] : index.files) {
    files[name] = {{"bytes", seal.bytes}, {"header_checksum", seal.header_checksum}};
  }
  // To look for each name among those before it would take long.
  Json weight_map = Json::object_t(index.file_of.begin(), index.file_of.end());
  Json content{{"iteration", index.iteration},
               {"model", Json::parse(to_json(index.model))},
               {"layout", index.layout},
               {"corpus_fingerprint", checksum_text(index.corpus_fingerprint)},
               {"schedule", schedule},
               {"files", std::move(files)},
               {"weight_map", std::move(weight_map)}};
  for (const SourceCursor& one : index.cursors) {
    content["cursors"].push_back({{"source", one.name},
                                  {"drawn", one.drawn},
                                  {"identity", checksum_text(one.identity)},
                                  {"number", one.number}});
    if (one.in_order) content["cursors"].back()["in_order"] = true;
  }
  if (index.has_initial_states) content["states"] = kInitial;
  if (index.model.outlier_z_score) {
    content["outliers"] = {{"losses", index.outliers.losses},
                           {"gradient_norms", index.outliers.gradient_norms},
                           {"skipped", index.outliers.skipped}};
  }
  if (index.run) {
    content["run"] = {{"started_at", index.run->started_at},
                      {"pid", index.run->pid},
                      {"host", index.run->hostname}};
  }
  if (index.log) {
    content["log"] = {{"bytes", index.log->bytes}, {"line", checksum_text(index.log->line)}};
  }
  const std::string checksum = checksum_of_text(in_utf8(content, -1));
  const Json whole{{"moelab_checkpoint", index.has_initial_states ? kWithInitialStates : kVersion},
                   {"checksum", checksum},
                   {"content", std::move(content)}};
  return in_utf8(whole, 1) + "\n";
}

CheckpointIndex read_index(const std::filesystem::path& folder) {
  const std::string file = (folder / kIndexFile).string();
  const std::string text = read_file(file, kMostIndexBytes);
  const InputDocument document = parse_json(text, file);
  const InputObject root = document.object();
  const InputValue told = root.member("moelab_checkpoint", "the index of a checkpoint");
  const std::int64_t version = told.integer(0);
  if (version != kVersion && version != kWithInitialStates) {
    told.fail(fmt::format("format {} or {}", kVersion, kWithInitialStates));
  }
  expect_unchanged(text, root, version);
  CheckpointIndex index = index_from(root.object("content"), version);
  document.no_other_keys();
  return index;
}

}  // namespace moe
