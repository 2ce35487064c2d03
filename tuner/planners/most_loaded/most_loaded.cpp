#include "tuner/planners/most_loaded/most_loaded.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tuner/planners/placement/hidden_transfers.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {

std::vector<Candidate> top_candidates(const Situation& situation, std::size_t count) {
  const moe::Schedule in_place =
      placed_schedule(situation, fmt::format("top{}", count), [&](const PlacedLayer& layer) {
        const std::vector<int> order = most_loaded(rows_by_expert(layer.rows));
        return on_all_members(std::span(order).first(std::min(count, order.size())),
                              layer.rows.homes, layer.rows.members);
      });
  return {{in_place, R"({"transfers": "in their place"})"},
          {with_hidden_transfers(situation, in_place), R"({"transfers": "hidden"})"}};
}

}  // namespace tuner
