#include "tuner/search/search_orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "tuner/planners/planners.h"

namespace tuner {

std::vector<const Planner*> search_orders() {
  std::vector<const Planner*> orders;
  for (const Planner& planner : planners()) {
    if (planner.passes != Passes::undecided) orders.push_back(&planner);
  }
  return orders;
}

/// gpipe takes as long as one_f_one_b and needs more memory. Of those that fill bubbles few can be
/// pruned, and planning them takes long.
constexpr std::string_view kUsualOrders = "sequential,one_f_one_b,two_batch";

std::vector<const Planner*> parse_orders(std::string_view text) {
  const std::vector<const Planner*> all = search_orders();
  if (text == "all") return all;
  if (text == "usual") return parse_orders(kUsualOrders);
  std::vector<const Planner*> orders;
  for (const std::string_view name : moe::split(text, ',')) {
    const auto found = std::ranges::find(all, name, &Planner::name);
    if (found == all.end()) {
      std::vector<std::string_view> names;
      for (const Planner* const planner : all) names.push_back(planner->name);
      throw moe::InputError(fmt::format("--orders {}: \"{}\": expected usual, all, or some of {}",
                                        text, name, fmt::join(names, ", ")));
    }
    if (std::ranges::find(orders, *found) != orders.end()) {
      throw moe::InputError(fmt::format("--orders {}: {} stands there twice", text, name));
    }
    orders.push_back(*found);
  }
  return orders;
}

}  // namespace tuner
