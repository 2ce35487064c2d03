#include "moe/model/model_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <stdexcept>

#include "db/console/shown_text.h"
#include "moe/model/gates/gates.h"

namespace moe {
namespace {

template <class... Alternatives>
struct ByRange : Alternatives... {
  using Alternatives::operator()...;
};
template <class... Alternatives>
ByRange(Alternatives...) -> ByRange<Alternatives...>;

/// The last common key of the table [moe]: a gate's own keys follow it.
constexpr std::string_view kLastOfMoe = "z_loss_weight";

constexpr std::array<std::string_view, 3> kKindNames{"training", "function", "tensors"};

}  // namespace

std::string_view kind_name(KeyKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

KeyKind kind_of(const ModelKey& key, const Model& model) {
  for (const KindWhere& other : key.other_kinds) {
    if (other.holds(key, model)) return other.kind;
  }
  return key.kind;
}

KeyValue own_value(const ModelKey& key, const Model& model) {
  const auto found = model.own.find(key.name);
  return found == model.own.end() ? key.fallback(model) : found->second;
}

void set_own_value(const ModelKey& key, Model& model, const KeyValue& value) {
  model.own.insert_or_assign(std::string(key.name), value);
}

const ModelKey& key_named(std::span<const ModelKey> keys, std::string_view name) {
  for (const ModelKey& key : keys) {
    if (key.name == name) return key;
  }
  throw std::logic_error(fmt::format("key_named: no key {}", name));
}

const ModelKey& key_named(const Model& model, std::string_view name) {
  for (const ModelKey* key : keys_of(model)) {
    if (key->name == name) return *key;
  }
  throw std::logic_error(fmt::format("key_named: no key {}", name));
}

double own_number(const ModelKey& key, const Model& model) {
  return std::get<double>(own_value(key, model));
}

std::int64_t own_integer(const ModelKey& key, const Model& model) {
  return std::get<std::int64_t>(own_value(key, model));
}

std::optional<double> own_optional_number(const ModelKey& key, const Model& model) {
  const KeyValue value = own_value(key, model);
  if (std::holds_alternative<std::string>(value)) return std::nullopt;
  return std::get<double>(value);
}

std::vector<const ModelKey*> keys_of(const Model& model) {
  std::vector<const ModelKey*> keys;
  for (const ModelKey& key : common_keys()) {
    keys.push_back(&key);
    if (key.name != kLastOfMoe) continue;
    for (const ModelKey& own : gate_named(model.gate).keys) keys.push_back(&own);
  }
  return keys;
}

std::string range_text(const KeyRange& range) {
  return std::visit(
      ByRange{[](const IntegerRange& r) { return db::integer_range(r.least, r.most); },
              [](const NumberRange& r) {
                return r.word.empty() ? std::string(r.text)
                                      : fmt::format("{} or \"{}\"", r.text, r.word);
              },
              [](const WordRange& r) {
                return fmt::format("one of \"{}\"", fmt::join(r.words(), "\", \""));
              },
              [](TrueOrFalse) { return std::string("true or false"); },
              [](AnyText) { return std::string("a text"); }},
      range);
}

std::string value_text(const KeyValue& value) {
  return std::visit(ByRange{[](bool v) { return fmt::to_string(v); },
                            [](std::int64_t v) { return fmt::to_string(v); },
                            [](double v) { return fmt::to_string(v); },
                            [](const std::string& v) { return fmt::format("\"{}\"", v); }},
                    value);
}

}  // namespace moe
