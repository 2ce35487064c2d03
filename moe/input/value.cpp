#include "moe/input/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "db/console/size.h"
#include "moe/errors.h"
#include "moe/input/similar.h"

namespace moe {
namespace {

template <class... Alternatives>
struct Overloaded : Alternatives... {
  using Alternatives::operator()...;
};
template <class... Alternatives>
Overloaded(Alternatives...) -> Overloaded<Alternatives...>;

std::string text_of(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string joined(std::string_view path, std::string_view key) {
  return path.empty() ? db::shortened(key) : fmt::format("{}.{}", path, db::shortened(key));
}

/// "layers[3].tokens" -> "layers[].tokens": all entries have the same keys.
std::string without_indices(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const bool in_brackets = !result.empty() && result.back() == '[';
    if (!(in_brackets && c >= '0' && c <= '9')) result += c;
  }
  return result;
}

}  // namespace

InputValue::InputValue(const InputDocument& document, const InputNode& node, std::string path)
    : document_(&document), node_(&node), path_(std::move(path)) {}

void InputValue::refuse(std::string_view message) const {
  document_->refuse(*node_, path_, message);
}

void InputValue::fail(std::string_view expected) const {
  const std::string got = std::visit(
      Overloaded{
          [](std::monostate) { return std::string("null"); },
          [](bool value) { return std::string(value ? "true" : "false"); },
          [](std::int64_t value) { return fmt::to_string(value); },
          [](double value) { return text_of(value); },
          [](const std::string& value) { return fmt::format("\"{}\"", db::shortened(value)); },
          [](const InputNode::List& value) { return fmt::format("a list of {}", value.size()); },
          [&](const InputNode::Members&) {
            return std::string(document_->kind_ == InputDocument::Kind::json ? "an object"
                                                                             : "a table");
          }},
      node_->value);
  refuse(fmt::format("expected {}, got {}", expected, got));
}

std::int64_t InputValue::integer(std::int64_t least, std::int64_t most) const {
  const auto* value = std::get_if<std::int64_t>(&node_->value);
  if (value == nullptr || *value < least || *value > most) fail(db::integer_range(least, most));
  return *value;
}

double InputValue::number(double least, double most, std::string_view expected) const {
  double value = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&node_->value)) {
    value = static_cast<double>(*integer);
  } else if (const auto* number = std::get_if<double>(&node_->value)) {
    value = *number;
  } else {
    fail(expected);
  }
  if (!(value >= least && value <= most)) fail(expected);
  return value;
}

std::string InputValue::text(std::string_view expected) const {
  const auto* value = std::get_if<std::string>(&node_->value);
  if (value == nullptr || value->empty()) fail(expected);
  return *value;
}

bool InputValue::is(std::string_view text) const {
  const auto* value = std::get_if<std::string>(&node_->value);
  return value != nullptr && *value == text;
}

bool InputValue::boolean() const {
  const auto* value = std::get_if<bool>(&node_->value);
  if (value == nullptr) fail("true or false");
  return *value;
}

bool InputValue::is_null() const { return std::holds_alternative<std::monostate>(node_->value); }
bool InputValue::is_list() const { return std::holds_alternative<InputNode::List>(node_->value); }

std::size_t InputValue::one_of(const std::vector<std::string_view>& choices) const {
  const auto* value = std::get_if<std::string>(&node_->value);
  const auto found =
      value == nullptr ? choices.end() : std::find(choices.begin(), choices.end(), *value);
  if (found == choices.end()) {
    fail(choices.size() == 1 ? fmt::format("\"{}\"", choices.front())
                             : fmt::format("one of \"{}\"", fmt::join(choices, "\", \"")));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

std::int64_t InputValue::bytes() const {
  if (const auto* value = std::get_if<std::int64_t>(&node_->value); value && *value >= 0) {
    return *value;
  }
  if (const auto* value = std::get_if<std::string>(&node_->value)) {
    if (const auto size = db::parse_size(*value)) return *size;
  }
  fail("bytes: a whole number, or a text like \"48G\" (powers of 1024)");
}

InputObject InputValue::object(std::string_view expected) const {
  if (!std::holds_alternative<InputNode::Members>(node_->value)) {
    const bool json = document_->kind_ == InputDocument::Kind::json;
    fail(!expected.empty() ? expected : json ? "an object" : "a table");
  }
  return {*document_, *node_, path_};
}

std::vector<InputValue> InputValue::list(std::string_view expected) const {
  const auto* list = std::get_if<InputNode::List>(&node_->value);
  if (list == nullptr) fail(expected);
  std::vector<InputValue> result;
  result.reserve(list->size());
  for (const InputNode& node : *list) {
    result.emplace_back(*document_, node, fmt::format("{}[{}]", path_, result.size()));
  }
  return result;
}

std::vector<std::int64_t> InputValue::integers(std::int64_t least, std::int64_t most) const {
  const auto* list = std::get_if<InputNode::List>(&node_->value);
  if (list == nullptr) fail("a list of integers");
  std::vector<std::int64_t> result;
  result.reserve(list->size());
  for (const InputNode& node : *list) {
    const auto* value = std::get_if<std::int64_t>(&node.value);
    if (value == nullptr || *value < least || *value > most) {
      InputValue(*document_, node, fmt::format("{}[{}]", path_, result.size()))
          .fail(db::integer_range(least, most));
    }
    result.push_back(*value);
  }
  return result;
}

InputObject::InputObject(const InputDocument& document, const InputNode& node, std::string path)
    : document_(&document), node_(&node), path_(std::move(path)) {}

const InputMember* InputObject::find(std::string_view key) const {
  document_->remember(path_, key);
  const InputMember* found = document_->find(*node_, key);
  if (found != nullptr) found->asked_for = true;
  return found;
}

bool InputObject::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> InputObject::keys() const {
  std::vector<std::string> result;
  for (const InputMember& member : std::get<InputNode::Members>(node_->value)) {
    result.push_back(member.key);
  }
  return result;
}

void InputObject::refuse(std::string_view key, std::string_view message) const {
  const InputMember* member = find(key);
  document_->refuse(member ? member->node : *node_, joined(path_, key), message);
}

InputValue InputObject::member(std::string_view key, std::string_view expected) const {
  const InputMember* found = find(key);
  if (found == nullptr) {
    std::string hint;
    for (const InputMember& other : std::get<InputNode::Members>(node_->value)) {
      if (!other.asked_for && other.node.source == node_->source && looks_like(other.key, key)) {
        hint = fmt::format("; line {} has {}", other.node.line, db::shortened(other.key));
      }
    }
    refuse(key, fmt::format("missing; expected {}{}", expected, hint));
  }
  return {*document_, found->node, joined(path_, key)};
}

std::optional<InputValue> InputObject::optional_member(std::string_view key) const {
  const InputMember* found = find(key);
  if (found == nullptr) return std::nullopt;
  return InputValue(*document_, found->node, joined(path_, key));
}

std::int64_t InputObject::integer(std::string_view key, std::int64_t least,
                                  std::int64_t most) const {
  return member(key, db::integer_range(least, most)).integer(least, most);
}

double InputObject::number(std::string_view key, double least, double most,
                           std::string_view expected) const {
  return member(key, expected).number(least, most, expected);
}

double InputObject::number_or(std::string_view key, double fallback, double least, double most,
                              std::string_view expected) const {
  const auto value = optional_member(key);
  return value ? value->number(least, most, expected) : fallback;
}

std::string InputObject::text(std::string_view key, std::string_view expected) const {
  return member(key, expected).text(expected);
}

InputObject InputObject::object(std::string_view key, std::string_view expected) const {
  return member(key, expected.empty() ? "keys and values" : expected).object(expected);
}

std::vector<InputValue> InputObject::list(std::string_view key, std::string_view expected) const {
  return member(key, expected).list(expected);
}

InputDocument::InputDocument(std::string name, Kind kind, InputNode root)
    : InputDocument(std::vector<std::string>{std::move(name)}, kind, std::move(root)) {}
InputDocument::InputDocument(std::vector<std::string> names, Kind kind, InputNode root)
    : names_(std::move(names)), kind_(kind), root_(std::move(root)) {}

InputValue InputDocument::root() const { return {*this, root_, ""}; }
InputObject InputDocument::object() const { return root().object(); }

void InputDocument::refuse(const InputNode& at, std::string_view path,
                           std::string_view message) const {
  const std::string line = at.line == 0 ? "" : fmt::format(":{}", at.line);
  throw InputError(fmt::format("{}{}: {}{}{}", names_[at.source], line, path,
                               path.empty() ? "" : ": ", message));
}

const InputMember* InputDocument::find(const InputNode& object, std::string_view key) const {
  constexpr std::size_t few = 16;
  const auto& members = std::get<InputNode::Members>(object.value);
  if (members.size() <= few) {
    const auto found = std::ranges::find(members, key, &InputMember::key);
    return found == members.end() ? nullptr : &*found;
  }
  std::vector<const InputMember*>& sorted = by_key_[&object];
  if (sorted.empty()) {
    for (const InputMember& member : members) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, &InputMember::key);
  }
  const auto found = std::ranges::lower_bound(sorted, key, {}, &InputMember::key);
  return found == sorted.end() || (*found)->key != key ? nullptr : *found;
}

void InputDocument::remember(std::string_view path, std::string_view key) const {
  asked_for_[without_indices(path)].emplace(key);
}

void InputDocument::no_other_keys() const { check_members(root_, ""); }

void InputDocument::check_members(const InputNode& node, const std::string& path) const {
  if (const auto* list = std::get_if<InputNode::List>(&node.value)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      // Lists of numbers, of which there can be millions, hold no keys.
      const InputNode& entry = (*list)[i];
      if (std::holds_alternative<InputNode::List>(entry.value) ||
          std::holds_alternative<InputNode::Members>(entry.value)) {
        check_members(entry, fmt::format("{}[{}]", path, i));
      }
    }
    return;
  }
  const auto* members = std::get_if<InputNode::Members>(&node.value);
  if (members == nullptr) return;
  for (const InputMember& member : *members) {
    if (!member.asked_for) {
      refuse(member.node, joined(path, member.key), unknown_key(path, member.key));
    }
    check_members(member.node, joined(path, member.key));
  }
}

namespace {

/// As many of them as a message has room for.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most_bytes = 500;
  std::string text;
  for (const std::string& name : names) {
    if (text.size() + name.size() > most_bytes) {
      return fmt::format("{}, ... ({} in all)", text, names.size());
    }
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

std::string InputDocument::unknown_key(std::string_view path, std::string_view key) const {
  const auto place = [&](const std::string& object) {
    if (object.empty()) return std::string("at the top");
    return kind_ == Kind::toml ? fmt::format("in [{}]", object) : fmt::format("in {}", object);
  };
  for (const auto& [object, known] : asked_for_) {
    if (known.contains(std::string(key))) {
      return fmt::format("unknown key: it belongs {}", place(object));
    }
  }
  const auto here = asked_for_.find(without_indices(path));
  if (here == asked_for_.end()) return "unknown key";
  const std::vector<std::string> known(here->second.begin(), here->second.end());
  const auto like = most_similar(key, {known.begin(), known.end()});
  const std::string all = listed(known);
  return like ? fmt::format("unknown key; is {} meant? Known are {}", *like, all)
              : fmt::format("unknown key; known are {}", all);
}

}  // namespace moe
