#include "moe/passes/place_allreduce.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/input/value.h"
#include "moe/passes/move_ops.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 3> kPlaces{"dispatch", "combine", "block"};

std::string_view place_name(AllReducePlace place) {
  return kPlaces[static_cast<std::size_t>(place)];
}

bool is_of(const Op& op, AllReducePlace place) {
  switch (place) {
    case AllReducePlace::dispatch:
      return direction_of(op) == Direction::dispatch || std::holds_alternative<GatherRows>(op.kind);
    case AllReducePlace::combine:
      return direction_of(op) == Direction::combine;
    case AllReducePlace::block:
      return true;
  }
  throw std::logic_error("place_allreduce: no such place");
}

}  // namespace

std::optional<std::size_t> place_of(const Program& program, AllReducePlace behind, int at) {
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (op.layer == at && op.phase == Phase::backward && !comes_once(op) && is_of(op, behind)) {
      return i;
    }
  }
  return std::nullopt;
}

Program apply(Program program, const PlaceAllReduce& placing) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("place_allreduce: layer {}, piece {} behind {} of {}: {}", placing.layer,
                    placing.piece, place_name(placing.behind), placing.at, why));
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
  object["behind"] = place_name(placing.behind);
  object["at"] = placing.at;
}

PlaceAllReduce PlaceAllReduce::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PlaceAllReduce placing;
  placing.layer = static_cast<int>(input.integer("layer", -1, most));
  placing.piece = static_cast<int>(input.integer("piece", 0, most));
  placing.behind = static_cast<AllReducePlace>(
      input.member("behind", "a place").one_of({kPlaces[0], kPlaces[1], kPlaces[2]}));
  placing.at = static_cast<int>(input.integer("at", 0, most));
  return placing;
}

}  // namespace moe
