#include "moe/model/model_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "moe/model/model_key.h"

namespace moe {

std::string to_toml(const Model& model) {
  std::map<std::string_view, std::string> tables;  // "", "model", "moe", "moe.hooks", "training"
  for (const ModelKey* key : keys_of(model)) {
    const KeyValue value = key->get(*key, model);
    const bool has_use = std::ranges::all_of(key->conditions, [&](const KeyCondition& condition) {
      return condition.refusal(model, value).empty();
    });
    if (!has_use || value == KeyValue(std::string())) continue;  // "": no hook there
    tables[key->table] += fmt::format("{} = {}\n", key->name, value_text(value));
  }
  std::string text;
  for (const auto& [table, lines] : tables) {
    if (!table.empty()) text += fmt::format("\n[{}]\n", table);
    text += lines;
  }
  return text;
}

}  // namespace moe
