#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "db/console/shown_text.h"

/// Files of users in JSON or TOML, read key by key. A value that is not as expected throws
/// InputError "FILE:LINE: key.of.key: expected ..., got ...", with values cut to a readable length.
namespace moe {

struct InputMember;

/// A value as it was parsed, and its line.
struct InputNode {
  using List = std::vector<InputNode>;
  using Members = std::vector<InputMember>;  ///< every key at most once
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Members> value;
  int line = 0;    ///< 0: it was not read from lines
  int source = 0;  ///< the number of the text that it is in, where a document has several
};
struct InputMember {
  std::string key;
  InputNode node;
  mutable bool asked_for = false;
};

using db::kAnyInteger;

class InputDocument;
class InputObject;

/// A value and the path of keys to it. Valid as long as its document.
class InputValue {
 public:
  InputValue(const InputDocument& document, const InputNode& node, std::string path);

  /// An integer within [least, most], without a fraction or an exponent.
  std::int64_t integer(std::int64_t least, std::int64_t most = kAnyInteger) const;
  /// A number within [least, most], which may be an integer but not NaN; `expected` says it in
  /// words.
  double number(double least, double most, std::string_view expected) const;
  /// A text that is not empty.
  std::string text(std::string_view expected = "a text") const;
  bool is(std::string_view text) const;
  bool boolean() const;
  /// True of JSON's null.
  bool is_null() const;
  bool is_list() const;
  /// The index of the value among `choices`.
  std::size_t one_of(const std::vector<std::string_view>& choices) const;
  /// Bytes: a whole number, or a text such as "48G".
  std::int64_t bytes() const;
  InputObject object(std::string_view expected = {}) const;
  std::vector<InputValue> list(std::string_view expected = "a list") const;
  /// A list of integers within [least, most].
  std::vector<std::int64_t> integers(std::int64_t least, std::int64_t most = kAnyInteger) const;

  /// Throws "FILE:LINE: path: expected `expected`, got `this value`".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws "FILE:LINE: path: `message`", for values that do not fit together.
  [[noreturn]] void refuse(std::string_view message) const;
  int line() const { return node_->line; }
  /// True where it is in a file that the file of `other` builds on (toml_base.h).
  bool is_below(const InputValue& other) const { return node_->source > other.node_->source; }

 private:
  const InputDocument* document_;
  const InputNode* node_;
  std::string path_;
};

/// A JSON object or TOML table. A key that was never asked for is refused at the end, by
/// InputDocument::no_other_keys.
class InputObject {
 public:
  InputObject(const InputDocument& document, const InputNode& node, std::string path);

  bool has(std::string_view key) const;
  /// All members, in the order of the file (JSON) or of the alphabet (TOML).
  std::vector<std::string> keys() const;
  /// Throws where the key is missing, with the key that looks most like it.
  InputValue member(std::string_view key, std::string_view expected = "a value") const;
  std::optional<InputValue> optional_member(std::string_view key) const;

  std::int64_t integer(std::string_view key, std::int64_t least,
                       std::int64_t most = kAnyInteger) const;
  double number(std::string_view key, double least, double most, std::string_view expected) const;
  double number_or(std::string_view key, double fallback, double least, double most,
                   std::string_view expected) const;
  std::string text(std::string_view key, std::string_view expected = "a text") const;
  InputObject object(std::string_view key, std::string_view expected = {}) const;
  std::vector<InputValue> list(std::string_view key, std::string_view expected = "a list") const;

  /// Throws "FILE:LINE: path.key: `message`", with the object's line where the key is missing.
  [[noreturn]] void refuse(std::string_view key, std::string_view message) const;

 private:
  const InputMember* find(std::string_view key) const;

  const InputDocument* document_;
  const InputNode* node_;
  std::string path_;
};

/// A parsed text, or several texts that were merged. Its name begins every message: that of the
/// file, or of the kind of text ("schedule").
class InputDocument {
 public:
  enum class Kind : std::uint8_t { json, toml };
  InputDocument(std::string name, Kind kind, InputNode root);
  /// `names`: the name of each text, by InputNode::source.
  InputDocument(std::vector<std::string> names, Kind kind, InputNode root);
  InputDocument(const InputDocument&) = delete;
  InputDocument& operator=(const InputDocument&) = delete;

  InputValue root() const;
  InputObject object() const;
  /// Throws for the first key that was never asked for, with the most similar key that was.
  void no_other_keys() const;

 private:
  friend class InputValue;
  friend class InputObject;
  [[noreturn]] void refuse(const InputNode& at, std::string_view path,
                           std::string_view message) const;
  const InputMember* find(const InputNode& object, std::string_view key) const;
  void remember(std::string_view path, std::string_view key) const;
  void check_members(const InputNode& node, const std::string& path) const;
  std::string unknown_key(std::string_view path, std::string_view key) const;

  std::vector<std::string> names_;
  Kind kind_;
  InputNode root_;
  /// The keys that were asked for, present or not, by the path of their object without indices.
  mutable std::map<std::string, std::set<std::string>> asked_for_;
  /// The members of objects that have many, by key.
  mutable std::map<const InputNode*, std::vector<const InputMember*>> by_key_;
};

}  // namespace moe
