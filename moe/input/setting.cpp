#include "moe/input/setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "moe/errors.h"
#include "moe/input/toml.h"

namespace moe {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view message) {
  throw InputError(fmt::format("--set {}: {}", db::shortened(std::string(text), 200), message));
}

InputMember* find_member(InputNode::Members& members, const std::string& key) {
  const auto found = std::ranges::find(members, key, &InputMember::key);
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

std::string key_of(const Setting& setting) {
  return fmt::format("{}", fmt::join(setting.path, "."));
}

Setting parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size()) {
    refuse(text, "expected KEY=VALUE, as in moe.experts=64");
  }
  Setting setting{{}, std::string(text.substr(equals + 1))};
  std::string_view key = text.substr(0, equals);
  while (true) {
    const std::size_t dot = key.find('.');
    setting.path.emplace_back(key.substr(0, dot));
    if (setting.path.back().empty()) refuse(text, "expected a key, as in moe.experts=64");
    if (dot == std::string_view::npos) break;
    key.remove_prefix(dot + 1);
  }
  if (setting.path.back() == "base" && setting.path.size() <= 2) {
    refuse(text, "base stands in a file alone: name another file");
  }
  return setting;
}

std::vector<Setting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    Setting setting = parse_setting(text);
    for (const Setting& before : settings) {
      if (before.path == setting.path) refuse(text, key_of(setting) + " stands there twice");
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

InputNode value_node(const Setting& setting) {
  InputNode text{setting.value};
  if (setting.value.find('\n') != std::string::npos) return text;
  try {
    InputNode table = parse_toml_node("value = " + setting.value, "");
    InputNode node = std::move(std::get<InputNode::Members>(table.value).front().node);
    node.line = 0;
    return node;
  } catch (const InputError&) {
    return text;
  }
}

void put(InputNode& root, const Setting& setting, int source, std::size_t outside) {
  InputNode* node = &root;
  for (std::size_t part = outside; part < setting.path.size(); ++part) {
    const std::string& key = setting.path[part];
    auto* members = std::get_if<InputNode::Members>(&node->value);
    if (members == nullptr) {
      refuse(key_of(setting) + "=" + setting.value, "a key on the way has a value already");
    }
    InputMember* member = find_member(*members, key);
    if (member == nullptr) {
      InputNode table{InputNode::Members{}};
      table.source = source;
      members->push_back({key, std::move(table)});
      member = &members->back();
    }
    node = &member->node;
  }
  *node = value_node(setting);
  node->source = source;
}

}  // namespace moe
