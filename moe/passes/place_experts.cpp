#include "moe/passes/place_experts.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/way_out.h"
#include "moe/rows/expert_slots.h"

namespace moe {
namespace {

std::string described(const PlaceExperts& placing) {
  return fmt::format("place_experts: layer {}", placing.layer);
}

[[noreturn]] void refuse_homes(const PlaceExperts& placing, std::string_view why,
                               std::string way_out) {
  throw Refusal(described(placing), why, std::move(way_out), {"", placing.layer});
}

/// The number of experts of the layer. Throws where there are none.
int experts_to_place(const Program& program, const PlaceExperts& placing) {
  for (const Op& op : program.ops) {
    if (op.layer != placing.layer) continue;
    if (std::holds_alternative<SendExperts>(op.kind)) {
      refuse_homes(placing, "its experts are replicated already", "expected homes before replicas");
    }
  }
  const int experts = experts_in_layer(program, placing.layer);
  if (experts == 0) refuse_homes(placing, "no experts there", expected_moe_layer(program));
  return experts;
}

}  // namespace

Program apply(Program program, const PlaceExperts& placing) {
  const int experts = experts_to_place(program, placing);
  const int members = program.groups.layout.expert;
  if (members < 2) {
    refuse_homes(placing, "every rank has all experts", "expected a layout with ep of at least 2");
  }
  if (placing.homes.empty()) {
    refuse_homes(placing, "no homes", fmt::format("expected one for each of {} experts", experts));
  }
  ExpertSlots slots;
  try {
    slots = expert_slots({{}, RowsOfOthers::home, placing.homes}, experts, members);
  } catch (const Refusal& refusal) {
    throw within(described(placing), refusal);
  }
  const bool in_order = placing.homes == homes_in_order(experts, members);
  program.homes.erase(placing.layer);
  if (!in_order) program.homes[placing.layer] = placing.homes;
  for (Parameter& parameter : program.parameters) {
    if (!belongs_to_experts(parameter) || parameter.layer != placing.layer) continue;
    // Only its parameters say which experts a rank has.
    const auto member = static_cast<std::size_t>(
        slots.in_order.home_of(static_cast<int>(parameter.shard.first_block)));
    parameter.shard.blocks.clear();
    if (in_order) continue;
    parameter.shard.blocks.assign(slots.owned[member].begin(), slots.owned[member].end());
  }
  return program;
}

std::string subject(const PlaceExperts& placing) { return std::to_string(placing.layer); }

void write(nlohmann::json& object, const PlaceExperts& placing) {
  object["layer"] = placing.layer;
  object["homes"] = placing.homes;
}

PlaceExperts PlaceExperts::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PlaceExperts placing;
  placing.layer = static_cast<int>(input.integer("layer", 0, most));
  for (const std::int64_t home :
       input.member("homes", "a list of ranks, one for every expert").integers(0, most)) {
    placing.homes.push_back(static_cast<int>(home));
  }
  return placing;
}

}  // namespace moe
