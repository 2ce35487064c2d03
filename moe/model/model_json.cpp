#include "moe/model/model_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "moe/input/json.h"
#include "moe/model/gates/gates.h"
#include "moe/model/read_key.h"

namespace moe {
namespace {

constexpr std::string_view kHooksTable = "moe.hooks", kHooks = "hooks";

std::string name_in_json(const ModelKey& key) {
  return key.table == kHooksTable ? std::string(kHooks) + "." + std::string(key.name)
                                  : std::string(key.name);
}

}  // namespace

std::string to_json(const Model& model) {
  nlohmann::ordered_json json;
  for (const ModelKey* key : keys_of(model)) {
    const KeyValue value = key->get(*key, model);
    const bool of_hook = key->table == kHooksTable;
    if (of_hook && value == KeyValue(std::string())) continue;  // no hook there
    nlohmann::ordered_json& table = of_hook ? json[kHooks] : json;
    std::visit([&](const auto& v) { table[key->name] = v; }, value);
  }
  return json.dump();
}

Model model_from_json(std::string_view text, const std::string& name) {
  const InputDocument document = parse_json(text, name);
  Model model = model_from_json(document.object());
  document.no_other_keys();
  return model;
}

Model model_from_json(const InputObject& object) {
  Model model;
  const auto read = [&](const ModelKey& key) {
    auto value = object.optional_member(key.table == kHooksTable ? kHooks : key.name);
    if (value && key.table == kHooksTable) value = value->object().optional_member(key.name);
    if (value) key.set(key, model, read_value(key, *value));
  };
  for (const ModelKey& key : common_keys()) read(key);
  // Models stored by version 0.1 call the precision so.
  if (const auto earlier = object.optional_member("dtype")) set_precision(*earlier, model);
  for (const ModelKey& key : gate_named(model.gate).keys) read(key);
  return model;
}

std::vector<KeyDifference> differing_keys(const Model& first, const Model& second) {
  std::vector<KeyDifference> differences;
  const std::span<const ModelKey> of_gate = gate_named(first.gate).keys;
  for (const ModelKey* key : keys_of(first)) {
    const bool is_of_gate =
        std::ranges::any_of(of_gate, [&](const ModelKey& own) { return &own == key; });
    if (is_of_gate && first.gate != second.gate) continue;
    const KeyValue a = key->get(*key, first), b = key->get(*key, second);
    if (a == b) continue;
    differences.push_back({name_in_json(*key), value_text(a), value_text(b), key->table,
                           std::max(kind_of(*key, first), kind_of(*key, second))});
  }
  return differences;
}

}  // namespace moe
