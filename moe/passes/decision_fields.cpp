#include "moe/passes/decision_fields.h"

#include <limits>

#include "moe/input/value.h"

namespace moe {

std::string_view key_of(const InputObject& input, std::string_view key, std::string_view former) {
  return input.has(former) && !input.has(key) ? former : key;
}

int read_layer(const InputObject& input) {
  return static_cast<int>(input.integer("layer", 0, std::numeric_limits<int>::max()));
}

Phase read_phase(const InputObject& input) {
  return static_cast<Phase>(input.member("phase", "a phase")
                                .one_of({phase_name(Phase::forward), phase_name(Phase::backward)}));
}

Direction read_direction(const InputObject& input) {
  return static_cast<Direction>(
      input.member("direction", "a direction").one_of({kDirectionNames[0], kDirectionNames[1]}));
}

ExchangePlace read_place(const InputObject& input) {
  const auto& places = kExchangePlaceNames;
  return static_cast<ExchangePlace>(input.member(key_of(input, "after", "behind"), "a place")
                                        .one_of({places[0], places[1], places[2]}));
}

}  // namespace moe
