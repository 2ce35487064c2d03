#include "moe/passes/place_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/move_ops.h"

namespace moe {
namespace {

bool reduces_what(const Op& reduction, const Op& adding) {
  return std::any_of(reduction.writes.begin(), reduction.writes.end(), [&](const Use& use) {
    return std::any_of(adding.writes.begin(), adding.writes.end(),
                       [&](const Use& added) { return added.tensor == use.tensor; });
  });
}

}  // namespace

Program apply(Program program, const PlaceAllReduce& placing) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("place_allreduce: layer {}, piece {} behind {} of {}: {}", placing.layer,
                    placing.piece, exchange_place_name(placing.behind), placing.at, why));
  };
  const auto place = place_of(program, placing.behind, placing.at);
  if (!place) refuse("no such place in the backward phase");
  const int stage = program.ops[*place].stage;
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (reduces_gradients(op) && op.layer == placing.layer && op.chunk.index == placing.piece &&
        op.stage == stage) {
      moved.push_back(i);
    }
  }
  if (moved.empty()) refuse("no gradients are reduced there");
  for (std::size_t i = moved.front(); i-- > *place + 1;) {
    const Op& op = program.ops[i];
    if (std::holds_alternative<AddReturned>(op.kind) &&
        std::any_of(moved.begin(), moved.end(),
                    [&](std::size_t one) { return reduces_what(program.ops[one], op); })) {
      moved.insert(moved.begin(), i);
    }
  }
  if (const auto other = in_the_way(program, moved, *place)) {
    refuse(fmt::format("\"{}\" of layer {} makes some of them, and comes later",
                       program.ops[*other].name, program.ops[*other].layer));
  }
  program = moved_behind(std::move(program), moved, *place);
  validate(program);
  return program;
}

std::string subject(const PlaceAllReduce& placing) {
  return fmt::format("{} {}", placing.layer, placing.piece);
}

void write(nlohmann::json& object, const PlaceAllReduce& placing) {
  object["layer"] = placing.layer;
  object["piece"] = placing.piece;
  object["behind"] = exchange_place_name(placing.behind);
  object["at"] = placing.at;
}

PlaceAllReduce PlaceAllReduce::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PlaceAllReduce placing;
  placing.layer = static_cast<int>(input.integer("layer", -1, most));
  placing.piece = static_cast<int>(input.integer("piece", 0, most));
  placing.behind = read_place(input);
  placing.at = static_cast<int>(input.integer("at", 0, most));
  return placing;
}

}  // namespace moe
