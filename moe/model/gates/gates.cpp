#include "moe/model/gates/gates.h"

#include <fmt/format.h>

#include <stdexcept>

#include "moe/model/gates/softmax.h"

namespace moe {

const std::vector<Gate>& gates() {
  static const std::vector<Gate> all{
      {"softmax", "softmax over the experts, the k largest (GShard without noise, Switch)",
       softmax_gate},
  };
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
