#include "moe/model/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/model_key.h"
#include "moe/model/orders/orders.h"

namespace moe {
namespace {

constexpr std::size_t kColumns = 80;

template <class Described>
Listing listing(std::string title, const std::vector<Described>& all) {
  Listing result{std::move(title), {}};
  for (const Described& one : all) {
    result.entries.push_back({std::string(one.name), std::string(one.description)});
  }
  return result;
}

/// range_text in fewer words: "1 to 1000", "a number above 0", "adam, sgd".
std::string short_range(const KeyRange& range) {
  if (const auto* integers = std::get_if<IntegerRange>(&range)) {
    const bool limited = integers->most < std::numeric_limits<int>::max();
    return limited ? fmt::format("{} to {}", integers->least, integers->most)
                   : fmt::format("at least {}", integers->least);
  }
  if (const auto* words = std::get_if<WordRange>(&range)) {
    return fmt::format("{}", fmt::join(words->words(), ", "));
  }
  return range_text(range);
}

/// "function, tensors with gate = \"soft_moe\""
std::string kind_text(const ModelKey& key) {
  std::string text(kind_name(key.kind));
  for (const KindWhere& other : key.other_kinds) {
    text += fmt::format(", {} with {}", kind_name(other.kind), other.text);
  }
  return text;
}

/// "Base of these angles. (a number of at least 1; default 10000; with positions = \"rotary\";
/// function)"
std::string key_text(const ModelKey& key, const Model& model, const std::string& owner) {
  std::string said = "default " + (key.default_text.empty() ? value_text(key.get(key, model))
                                                            : std::string(key.default_text));
  if (key.presence == Presence::required) said = "required";
  if (key.presence == Presence::required_with_experts) said = "required where a block has experts";
  std::string with = owner;
  for (const KeyCondition& condition : key.conditions) {
    with += fmt::format("{}{}", with.empty() ? "" : " and ", condition.text);
  }
  return fmt::format("{} ({}; {}{}{}; {})", key.meaning, short_range(key.range), said,
                     with.empty() ? "" : "; with ", with, kind_text(key));
}

}  // namespace

std::vector<Listing> listings_of_model() {
  return {listing("gates", gates()), listing("orders", orders()), listing("hooks", hooks()),
          listing("experts", experts())};
}

std::vector<Listing> listings_of_keys() {
  std::vector<Listing> tables{{"the last word about a key: its kind", {}}};
  const auto tell = [&](KeyKind kind, const char* text) {
    tables.front().entries.push_back({std::string(kind_name(kind)), text});
  };
  tell(KeyKind::tensors,
       "Which tensors there are, and what their rows and columns are. A checkpoint has its own.");
  tell(KeyKind::function,
       "What is computed from the same tensors. --resume keeps it, but with --evaluate-only.");
  tell(KeyKind::training, "How it is learnt or carried out. --resume takes any value.");
  const auto add = [&](const ModelKey& key, const Model& model, const std::string& owner) {
    const std::string title = key.table.empty() ? "keys at the top of a model file"
                                                : fmt::format("keys of [{}]", key.table);
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const Listing& one) { return one.title == title; });
    if (table == tables.end()) table = tables.insert(tables.end(), {title, {}});
    table->entries.push_back({std::string(key.name), key_text(key, model, owner)});
  };
  for (const ModelKey& key : common_keys()) add(key, {}, "");
  for (const Gate& gate : gates()) {
    Model model;
    model.gate = gate.name;
    for (const ModelKey& key : gate.keys) {
      add(key, model, fmt::format("gate = \"{}\"", gate.name));
    }
  }
  return tables;
}

std::string to_text(const Listing& listing) {
  std::size_t names = 0;
  for (const Listing::Entry& entry : listing.entries) names = std::max(names, entry.name.size());
  const std::string indent(names + 4, ' ');
  std::string text = listing.title + '\n';
  for (const Listing::Entry& entry : listing.entries) {
    std::string line = fmt::format("  {:<{}}", entry.name, names + 2);
    for (std::size_t begin = 0; begin < entry.text.size();) {
      const std::size_t end = std::min(entry.text.find(' ', begin), entry.text.size());
      const std::string word = entry.text.substr(begin, end - begin);
      if (line.size() + word.size() > kColumns && line.size() > indent.size()) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        line = indent;
      }
      line += word + ' ';
      begin = end + 1;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace moe
