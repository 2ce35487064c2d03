#include "moe/model/read_key.h"

namespace moe {
namespace {

struct ReadByRange {
  const InputValue& value;
  std::string expected;

  KeyValue operator()(const IntegerRange& range) const {
    return value.integer(range.least, range.most);
  }
  KeyValue operator()(const NumberRange& range) const {
    if (!range.word.empty() && value.is(range.word)) return std::string(range.word);
    return value.number(range.least, range.most, expected);
  }
  KeyValue operator()(const WordRange& range) const {
    const std::vector<std::string_view> words = range.words();
    return std::string(words[value.one_of(words)]);
  }
  KeyValue operator()(TrueOrFalse) const { return value.boolean(); }
  KeyValue operator()(AnyText) const { return value.text(); }
};

bool is_required(const ModelKey& key, const Model& model) {
  return key.presence == Presence::required ||
         (key.presence == Presence::required_with_experts && blocks_with_experts(model) > 0);
}

}  // namespace

KeyValue read_value(const ModelKey& key, const InputValue& value) {
  return std::visit(ReadByRange{value, range_text(key.range)}, key.range);
}

void set_precision(const InputValue& earlier, Model& model) {
  for (const ModelKey& key : common_keys()) {
    if (key.name == "precision") key.set(key, model, read_value(key, earlier));
  }
}

void refuse_key(const InputValue& key, const InputObject& table, std::string_view choice,
                std::string_view refusal) {
  const auto chosen = table.optional_member(choice);
  if (!chosen || !key.is_below(*chosen)) key.refuse(refusal);
}

void read_key(const InputObject& table, const ModelKey& key, Model& model) {
  const auto member = is_required(key, model) ? table.member(key.name, range_text(key.range))
                                              : table.optional_member(key.name);
  if (!member) return;
  const KeyValue value = read_value(key, *member);
  for (const KeyCondition& condition : key.conditions) {
    const std::string refusal = condition.refusal(model, value);
    if (refusal.empty()) continue;
    refuse_key(*member, table, condition.choice, refusal);
    return;
  }
  key.set(key, model, value);
}

}  // namespace moe
