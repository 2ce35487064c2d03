#include "moe/input/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "moe/errors.h"

namespace moe {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostKeyParts = 16;
constexpr int kMostBrackets = 32;

[[noreturn]] void fail(const std::string& name, std::size_t line, std::string_view message) {
  throw InputError(fmt::format("{}:{}: {}", name, line, message));
}

/// The index after the string that starts at `at`, precise enough to count nesting: the parser
/// refuses a text that is not TOML.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool long_one = text.substr(at).starts_with(std::string(3, quote));
  const std::string end(long_one ? 3 : 1, quote);
  for (at += end.size(); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(end)) {
      at += end.size();
      // A long string may end with quotes of its own before the three.
      while (long_one && at < text.size() && text[at] == quote) ++at;
      return at;
    } else if (text[at] == '\n' && !long_one) {
      return at;
    }
  }
  return text.size();
}

/// toml++ recurses once for every part of a key and for every bracket, and so does any code
/// that walks or frees its tree. A text that would exhaust the stack is therefore refused before it
/// is parsed.
void check_nesting(const std::string& name, std::string_view text) {
  int brackets = 0, key_parts = 1;
  const auto line = [&](std::size_t at) {
    return static_cast<std::size_t>(1 + std::count(text.begin(), text.begin() + at, '\n'));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at) - 1;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '[' || c == '{') {
      if (++brackets > kMostBrackets) {
        fail(name, line(at),
             fmt::format("expected at most {} brackets within each other", kMostBrackets));
      }
    } else if (c == ']' || c == '}') {
      brackets = std::max(brackets - 1, 0);
    } else if (c == '.' && ++key_parts > kMostKeyParts) {
      fail(name, line(at), fmt::format("expected keys of at most {} parts", kMostKeyParts));
    }
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) key_parts = 1;
  }
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

InputNode node_of(const std::string& name, const toml::node& from) {
  InputNode node;
  node.line = line_of(from);
  if (const auto* table = from.as_table()) {
    auto& members = node.value.emplace<InputNode::Members>();
    for (const auto& [key, value] : *table) {
      InputNode member = node_of(name, value);
      member.line = static_cast<int>(key.source().begin.line);
      members.push_back({std::string(key.str()), std::move(member)});
    }
  } else if (const auto* list = from.as_array()) {
    auto& entries = node.value.emplace<InputNode::List>();
    for (const toml::node& entry : *list) entries.push_back(node_of(name, entry));
  } else if (const auto* text = from.as_string()) {
    node.value = text->get();
  } else if (const auto* integer = from.as_integer()) {
    node.value = integer->get();
  } else if (const auto* number = from.as_floating_point()) {
    node.value = number->get();
  } else if (const auto* truth = from.as_boolean()) {
    node.value = truth->get();
  } else {
    fail(name, static_cast<std::size_t>(node.line), "a date or a time: none is expected here");
  }
  return node;
}

}  // namespace

InputNode parse_toml_node(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    throw InputError(
        fmt::format("{}: has {} bytes: expected at most {}", name, text.size(), kMostBytes));
  }
  check_nesting(name, text);
  try {
    const toml::table root = toml::parse(text, name);
    return node_of(name, root);
  } catch (const toml::parse_error& error) {
    fail(name, error.source().begin.line, db::shortened(error.description(), 200));
  }
}

InputDocument parse_toml(std::string_view text, std::string name) {
  InputNode node = parse_toml_node(text, name);
  return InputDocument(std::move(name), InputDocument::Kind::toml, std::move(node));
}

}  // namespace moe
