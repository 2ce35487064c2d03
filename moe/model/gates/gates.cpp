#include "moe/model/gates/gates.h"

#include <fmt/format.h>

#include <stdexcept>

namespace moe {

const std::vector<Gate>& gates() {
#define MOELAB_LIST_GATE(name, description) {#name, description, name##_gate},
  static const std::vector<Gate> all{MOELAB_GATES(MOELAB_LIST_GATE)};
#undef MOELAB_LIST_GATE
  return all;
}

const Gate& gate_named(std::string_view name) {
  std::string names;
  for (const Gate& gate : gates()) {
    if (gate.name == name) return gate;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", gate.name);
  }
  throw std::invalid_argument(fmt::format("no gate \"{}\"; there are {}", name, names));
}

}  // namespace moe
