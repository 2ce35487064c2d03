#include "moe/model/gates/gates.h"

#include "moe/model/named.h"

namespace moe {

const std::vector<Gate>& gates() {
#define MOELAB_LIST_GATE(name, facts, description) {#name, description, facts, name##_gate},
  static const std::vector<Gate> all{MOELAB_GATES(MOELAB_LIST_GATE)};
#undef MOELAB_LIST_GATE
  return all;
}

const Gate& gate_named(std::string_view name) { return find_named(gates(), name, "gate"); }

}  // namespace moe
