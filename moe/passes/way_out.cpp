#include "moe/passes/way_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace moe {

std::string expected_one_of(std::span<const std::string> names, std::string otherwise) {
  constexpr std::size_t most = 8;
  if (names.empty()) return otherwise;
  if (names.size() == 1) return fmt::format("expected {}", names.front());
  return fmt::format("expected one of {}{}",
                     fmt::join(names.first(std::min(most, names.size())), ", "),
                     names.size() > most ? ", ..." : "");
}

std::string expected_layer(const Program& program, const std::function<bool(const Op&)>& wanted,
                           std::string otherwise) {
  std::set<int> layers;
  for (const Op& op : program.ops) {
    if (!layers.contains(op.layer) && wanted(op)) layers.insert(op.layer);
  }
  std::vector<std::string> names;
  for (const int layer : layers) {
    names.push_back(fmt::format(
        "{}{}", names.empty() ? (layers.size() > 1 ? "layers " : "layer ") : "", layer));
  }
  return expected_one_of(names, std::move(otherwise));
}

std::string expected_moe_layer(const Program& program) {
  return expected_layer(
      program, [&](const Op& op) { return uses_routed_rows(program, op); },
      "expected a model with experts");
}

std::string expected_reduced_layer(const Program& program) {
  return expected_layer(program, reduces_gradients, "expected a layout of at least 2 ranks");
}

}  // namespace moe
