#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/model/model.h"
#include "moe/source_tree.h"

namespace moe {
namespace {

/// One entry of the file, for messages that start "FILE:LINE: ".
struct Entry {
  const std::string& file;
  std::string_view key;
  const toml::node& node;

  std::string value_text() const {
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    std::string line = text.str();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line.size() > 60 ? line.substr(0, 57) + "..." : line;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw InputError(fmt::format("{}:{}: {} = {}: expected {}", file, node.source().begin.line, key,
                                 value_text(), expected));
  }
};

using Read = std::function<void(Model&, const Entry&)>;

/// An integer within [least, most].
template <class T>
Read integer(T Model::*field, std::int64_t least, std::int64_t most) {
  return [=](Model& model, const Entry& entry) {
    const auto value = entry.node.value_exact<std::int64_t>();
    if (!value || *value < least || *value > most) {
      entry.fail(most == std::numeric_limits<std::int64_t>::max()
                     ? fmt::format("an integer of at least {}", least)
                     : fmt::format("an integer from {} to {}", least, most));
    }
    model.*field = static_cast<T>(*value);
  };
}

/// A number, integers included, that `holds`.
std::optional<double> number(const Entry& entry, bool (*holds)(double)) {
  const auto value = entry.node.is_number() ? entry.node.value<double>() : std::nullopt;
  return value && holds(*value) ? value : std::nullopt;
}

Read number(double Model::*field, bool (*holds)(double), std::string_view expected) {
  return [=](Model& model, const Entry& entry) {
    const auto value = number(entry, holds);
    if (!value) entry.fail(expected);
    model.*field = *value;
  };
}

template <class T>
using Words = std::array<std::pair<std::string_view, T>, 2>;

constexpr Words<Optimizer> kOptimizers{{{"adam", Optimizer::adam}, {"sgd", Optimizer::sgd}}};
constexpr Words<DType> kDTypes{{{"f32", DType::f32}, {"f64", DType::f64}}};

template <class T>
Read word(T Model::*field, const Words<T>& words) {
  return [field, &words](Model& model, const Entry& entry) {
    const auto value = entry.node.value_exact<std::string_view>();
    for (const auto& [name, meaning] : words) {
      if (value == name) {
        model.*field = meaning;
        return;
      }
    }
    entry.fail(fmt::format("\"{}\" or \"{}\"", words[0].first, words[1].first));
  };
}

template <class T>
std::string_view word_of(T meaning, const Words<T>& words) {
  return meaning == words[0].second ? words[0].first : words[1].first;
}

void read_name(Model& model, const Entry& entry) {
  const auto value = entry.node.value_exact<std::string>();
  if (!value || value->empty()) entry.fail("a text");
  model.name = *value;
}

void read_capacity_factor(Model& model, const Entry& entry) {
  if (entry.node.value_exact<std::string_view>() == "dropless") {
    model.capacity_factor.reset();
    return;
  }
  model.capacity_factor =
      number(entry, [](double value) { return value > 0 && std::isfinite(value); });
  if (!model.capacity_factor) entry.fail("a number above 0 or \"dropless\"");
}

enum class Need { always, where_there_are_experts, no };

struct Key {
  std::string_view table;
  std::string_view name;
  Need need;
  Read read;
};

const std::vector<Key>& keys() {
  constexpr std::int64_t kWidth = std::int64_t{1} << 24;  // products of two stay far within int64
  constexpr int kInt = std::numeric_limits<int>::max();
  static const std::vector<Key> all = {
      {"", "name", Need::no, read_name},
      {"model", "vocabulary", Need::no, integer(&Model::vocabulary, 2, kWidth)},
      {"model", "sequence_length", Need::always, integer(&Model::sequence_length, 1, kWidth)},
      {"model", "d_model", Need::always, integer(&Model::d_model, 1, kWidth)},
      {"model", "d_hidden", Need::always, integer(&Model::d_hidden, 1, kWidth)},
      {"model", "heads", Need::always, integer(&Model::heads, 1, kInt)},
      {"model", "blocks", Need::always, integer(&Model::blocks, 1, 10000)},
      {"model", "dtype", Need::no, word(&Model::dtype, kDTypes)},
      {"moe", "moe_every", Need::no, integer(&Model::moe_every, 0, kInt)},
      {"moe", "experts", Need::where_there_are_experts, integer(&Model::experts, 1, 1 << 20)},
      {"moe", "choices", Need::where_there_are_experts, integer(&Model::choices, 1, 2)},
      {"moe", "capacity_factor", Need::no, read_capacity_factor},
      {"moe", "capacity_groups", Need::no, integer(&Model::capacity_groups, 0, kInt)},
      {"moe", "auxiliary_weight", Need::no,
       number(
           &Model::auxiliary_weight,
           [](double value) { return value >= 0 && std::isfinite(value); },
           "a number of at least 0")},
      {"training", "global_batch", Need::always, integer(&Model::global_batch, 1, kWidth)},
      {"training", "optimizer", Need::no, word(&Model::optimizer, kOptimizers)},
      {"training", "learning_rate", Need::no,
       number(
           &Model::learning_rate, [](double value) { return value > 0 && std::isfinite(value); },
           "a number above 0")},
      {"training", "momentum", Need::no,
       number(
           &Model::momentum, [](double value) { return value >= 0 && value < 1; },
           "a number from 0 to below 1")},
      {"training", "seed", Need::no,
       integer(&Model::seed, 0, std::numeric_limits<std::int64_t>::max())},
  };
  return all;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string place(std::string_view table) {
  return table.empty() ? "at the top" : fmt::format("in [{}]", table);
}

/// The key that `name` in `table` means; throws with the nearest known one.
const Key& known_key(const std::string& file, std::string_view table, const toml::key& name) {
  const Key* nearest = nullptr;
  std::size_t nearest_distance = 0;
  for (const Key& key : keys()) {
    if (key.table == table && key.name == name.str()) return key;
    const std::size_t distance = 2 * edit_distance(key.name, name.str()) + (key.table != table);
    if (nearest == nullptr || distance < nearest_distance) {
      nearest = &key;
      nearest_distance = distance;
    }
  }
  const std::string unknown = fmt::format("{}:{}: unknown key {} {}", file,
                                          name.source().begin.line, name.str(), place(table));
  if (nearest->name == name.str()) {
    throw InputError(fmt::format("{}: it belongs {}", unknown, place(nearest->table)));
  }
  throw InputError(
      fmt::format("{}; the nearest is {} {}", unknown, nearest->name, place(nearest->table)));
}

void read_table(const std::string& file, std::string_view table, const toml::table& entries,
                Model& model, std::vector<const Key*>& seen) {
  for (const auto& [name, node] : entries) {
    if (table.empty() && node.is_table()) {
      const auto has_table = [&](const Key& key) { return key.table == name.str(); };
      if (std::none_of(keys().begin(), keys().end(), has_table)) {
        throw InputError(
            fmt::format("{}:{}: unknown table [{}]; expected [model], [moe], [training]", file,
                        name.source().begin.line, name.str()));
      }
      read_table(file, name.str(), *node.as_table(), model, seen);
      continue;
    }
    const Key& key = known_key(file, table, name);
    key.read(model, Entry{file, key.name, node});
    seen.push_back(&key);
  }
}

/// Line of a key that is there; of nothing where its default counts.
std::string line_of(const toml::table& root, std::string_view table, std::string_view name) {
  const auto node = root[table][name];
  return node ? fmt::format(":{}", node.node()->source().begin.line) : "";
}

/// What only several keys together can get wrong.
void check_together(const std::string& file, const toml::table& root, const Model& model) {
  const auto fail = [&](std::string_view table, std::string_view name, std::string_view message) {
    throw InputError(fmt::format("{}{}: {}", file, line_of(root, table, name), message));
  };
  if (model.d_model % model.heads != 0) {
    fail("model", "heads",
         fmt::format("heads = {}: expected a divisor of d_model = {}", model.heads, model.d_model));
  }
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (tokens > std::numeric_limits<std::int32_t>::max()) {
    fail("training", "global_batch",
         fmt::format("global_batch = {}: with sequence_length = {} that is {} tokens, more than {}",
                     model.global_batch, model.sequence_length, tokens,
                     std::numeric_limits<std::int32_t>::max()));
  }
  if (model.moe_every == 0) return;
  if (model.moe_every > model.blocks) {
    fail("moe", "moe_every",
         fmt::format("moe_every = {}: expected 0 (no experts) to blocks = {}", model.moe_every,
                     model.blocks));
  }
  if (model.choices > model.experts) {
    fail("moe", "choices",
         fmt::format("choices = {}: expected at most experts = {}", model.choices, model.experts));
  }
  if (model.capacity_groups > 0 && tokens % model.capacity_groups != 0) {
    fail("moe", "capacity_groups",
         fmt::format("capacity_groups = {}: expected a divisor of the {} tokens of a batch",
                     model.capacity_groups, tokens));
  }
}

}  // namespace

Model load_model(const std::filesystem::path& path) {
  const std::string file = path.string();
  toml::table root;
  try {
    root = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    if (error.source().begin.line == 0) {
      throw InputError(fmt::format("{}: {}", file, error.description()));
    }
    throw InputError(
        fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }

  Model model;
  model.name = path.stem().string();
  std::vector<const Key*> seen;
  read_table(file, "", root, model, seen);

  for (const Key& key : keys()) {
    const bool needed = key.need == Need::always ||
                        (key.need == Need::where_there_are_experts && model.moe_every > 0);
    if (needed && std::find(seen.begin(), seen.end(), &key) == seen.end()) {
      throw InputError(
          fmt::format("{}: {} is missing: expected {}", file, key.name, place(key.table)));
    }
  }
  check_together(file, root, model);
  return model;
}

std::filesystem::path find_input(const std::string& name_or_path,
                                 const std::filesystem::path& directory) {
  const std::filesystem::path there =
      directory.is_relative() ? source_tree() / directory : directory;
  std::error_code ignored;
  const bool is_name = name_or_path.find_first_of("/.") == std::string::npos;
  if (is_name && std::filesystem::is_regular_file(there / (name_or_path + ".toml"), ignored)) {
    return there / (name_or_path + ".toml");
  }
  if (std::filesystem::is_regular_file(name_or_path, ignored)) return name_or_path;

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(there, ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  throw InputError(fmt::format(
      "{}: no such file, and {} has {}", name_or_path, there.string(),
      names.empty() ? "no TOML files" : fmt::format("only {}", fmt::join(names, ", "))));
}

std::string to_json(const Model& model) {
  nlohmann::ordered_json json;
  json["name"] = model.name;
  json["vocabulary"] = model.vocabulary;
  json["sequence_length"] = model.sequence_length;
  json["d_model"] = model.d_model;
  json["d_hidden"] = model.d_hidden;
  json["heads"] = model.heads;
  json["blocks"] = model.blocks;
  json["dtype"] = word_of(model.dtype, kDTypes);
  json["moe_every"] = model.moe_every;
  json["experts"] = model.experts;
  json["choices"] = model.choices;
  if (model.capacity_factor) {
    json["capacity_factor"] = *model.capacity_factor;
  } else {
    json["capacity_factor"] = "dropless";
  }
  json["capacity_groups"] = model.capacity_groups;
  json["auxiliary_weight"] = model.auxiliary_weight;
  json["global_batch"] = model.global_batch;
  json["optimizer"] = word_of(model.optimizer, kOptimizers);
  json["learning_rate"] = model.learning_rate;
  json["momentum"] = model.momentum;
  json["seed"] = model.seed;
  return json.dump();
}

}  // namespace moe
