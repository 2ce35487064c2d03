#include "moe/input/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/console/json_levels.h"
#include "moe/errors.h"

namespace moe {
namespace {

using Json = nlohmann::json;

/// A number that Python's json writes and JSON has not.
struct PythonNumber {
  std::string_view word;
  std::string_view stands_in;  ///< a number that nobody writes, in its place for the parser
  double value;
};
constexpr std::array kPythonNumbers{
    PythonNumber{"NaN", "1e-9990001", std::numeric_limits<double>::quiet_NaN()},
    PythonNumber{"Infinity", "1e-9990002", std::numeric_limits<double>::infinity()}};

constexpr std::int64_t kMostValues = 8'000'000;  // 400 MB once parsed

/// Counts the lines that the parser has taken.
struct CountingIterator {
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  const char* at;
  int* lines;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    if (*at == '\n') ++*lines;
    ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
  bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

/// Builds the tree: nlohmann's own has neither lines nor limits, and keeps the last of equal keys.
class TreeBuilder {
 public:
  TreeBuilder(const std::string& name, const int& lines) : name_(name), lines_(lines) {}

  InputNode take() { return std::move(root_); }

  bool null() { return add(std::monostate{}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(kAnyInteger)) return add(static_cast<double>(value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& written) {
    const bool is_negative = written.starts_with('-');
    for (const PythonNumber& one : kPythonNumbers) {
      if (std::string_view(written).substr(is_negative ? 1 : 0) != one.stands_in) continue;
      return add(is_negative ? -one.value : one.value);
    }
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // only in binary formats
  bool start_object(std::size_t) { return open(InputNode::Members{}); }
  bool start_array(std::size_t) { return open(InputNode::List{}); }
  bool key(std::string& name) {
    keys_.back() = {std::move(name), lines_};
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() {
    refuse_duplicates(std::get<InputNode::Members>(open_.back().value));
    return close();
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    std::string_view what = error.what();
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error ..."
    if (const auto column = what.find("column"); column != std::string_view::npos) {
      what.remove_prefix(std::min(what.size(), what.find(": ", column) + 2));
    } else if (const auto end = what.find("] "); end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    fail(lines_, fmt::format("not JSON: {}", db::shortened(what, 160)));
  }

 private:
  struct Key {
    std::string name;
    int line = 0;
  };

  [[noreturn]] void fail(int line, std::string_view message) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line, message));
  }

  void count() {
    if (++values_ > kMostValues) {
      fail(lines_, fmt::format("expected at most {} values", kMostValues));
    }
  }

  template <class T>
  bool add(T value) {
    count();
    place(InputNode{std::move(value), lines_});
    return true;
  }
  template <class T>
  bool open(T empty) {
    count();
    if (open_.size() == db::kMostJsonLevels) {
      fail(lines_,
           fmt::format("expected at most {} levels of lists and objects", db::kMostJsonLevels));
    }
    open_.push_back({std::move(empty), lines_});
    keys_.emplace_back();
    return true;
  }
  bool close() {
    InputNode node = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    place(std::move(node));
    return true;
  }
  void place(InputNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (auto* list = std::get_if<InputNode::List>(&open_.back().value)) {
      list->push_back(std::move(node));
    } else {
      node.line = keys_.back().line;
      std::get<InputNode::Members>(open_.back().value)
          .push_back({std::move(keys_.back().name), std::move(node)});
    }
  }
  void refuse_duplicates(const InputNode::Members& members) const {
    std::vector<const InputMember*> sorted;
    for (const InputMember& member : members) sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->key < b->key; });
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const auto* a, const auto* b) { return a->key == b->key; });
    if (twice != sorted.end()) {
      fail((*std::next(twice))->node.line,
           fmt::format("key \"{}\" is there twice, first in line {}", db::shortened((*twice)->key),
                       (*twice)->node.line));
    }
  }

  const std::string& name_;
  const int& lines_;
  InputNode root_;
  std::vector<InputNode> open_;
  std::vector<Key> keys_;  // of the value that comes next, one for each of open_
  std::int64_t values_ = 0;
};

/// The text with numbers of Python replaced by those that stand in for them.
std::string without_python_numbers(std::string_view text) {
  std::string result;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const PythonNumber* number = nullptr;
    for (const PythonNumber& one : kPythonNumbers) {
      if (!in_text && text.substr(at).starts_with(one.word)) number = &one;
    }
    if (number != nullptr) {
      result += number->stands_in;
      at += number->word.size() - 1;
      continue;
    }
    const bool is_escaped = in_text && text[at] == '\\' && at + 1 < text.size();
    if (is_escaped) result += text[at++];
    if (!is_escaped && text[at] == '"') in_text = !in_text;
    result += text[at];
  }
  return result;
}

}  // namespace

InputDocument parse_json(std::string_view text, std::string name, JsonNumbers numbers,
                         int first_line) {
  std::string replaced;
  if (numbers == JsonNumbers::python &&
      std::ranges::any_of(kPythonNumbers, [&](const PythonNumber& one) {
        return text.find(one.word) != std::string_view::npos;
      })) {
    replaced = without_python_numbers(text);
    text = replaced;
  }
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {  // the parser's end
    const auto before = std::ranges::count(text.substr(0, zero), '\n');
    throw InputError(fmt::format("{}:{}: not JSON: has a byte 0", name, first_line + before));
  }
  int lines = first_line;
  TreeBuilder builder(name, lines);
  Json::sax_parse(CountingIterator{text.data(), &lines},
                  CountingIterator{text.data() + text.size(), &lines}, &builder);
  return InputDocument(std::move(name), InputDocument::Kind::json, builder.take());
}

}  // namespace moe
