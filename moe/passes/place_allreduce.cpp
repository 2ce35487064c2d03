#include "moe/passes/place_allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/move_ops.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

bool reduces_what(const Op& reduction, const Op& adding) {
  return std::any_of(reduction.writes.begin(), reduction.writes.end(), [&](const Use& use) {
    return std::any_of(adding.writes.begin(), adding.writes.end(),
                       [&](const Use& added) { return added.tensor == use.tensor; });
  });
}

/// Slices that the gradients of a layer are reduced in; 0 where the stage reduces none of it.
int slices_reduced(const Program& program, int layer, int stage) {
  for (const Op& op : program.ops) {
    if (reduces_gradients(op) && op.layer == layer && op.stage == stage) return op.chunk.count;
  }
  return 0;
}

}  // namespace

Program apply(Program program, const PlaceAllReduce& placing) {
  const auto refuse = [&](std::string_view why, std::string way_out, std::string op = {}) {
    throw Refusal(fmt::format("place_allreduce: layer {}, slice {} after {} of {}", placing.layer,
                              placing.slice, exchange_place_name(placing.after), placing.at),
                  why, std::move(way_out), {std::move(op), placing.layer});
  };
  const auto place = place_of(program, placing.after, placing.at);
  if (!place) {
    refuse("no such place in the backward phase",
           expected_place(program, Phase::backward, -1, {0, program.ops.size()},
                          "expected a model with blocks"));
  }
  const int stage = program.ops[*place].stage;
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (reduces_gradients(op) && op.layer == placing.layer && op.chunk.index == placing.slice &&
        op.stage == stage) {
      moved.push_back(i);
    }
  }
  if (moved.empty()) {
    const auto slices = slices_reduced(program, placing.layer, stage);
    refuse(
        "no gradients are reduced there",
        slices > 0
            ? fmt::format("expected a slice from 0 to {}", slices - 1)
            : expected_layer(
                  program, [&](const Op& op) { return reduces_gradients(op) && op.stage == stage; },
                  "expected a layout of at least 2 ranks for each stage"));
  }
  for (std::size_t i = moved.front(); i-- > *place + 1;) {
    const Op& op = program.ops[i];
    if (std::holds_alternative<AddReturned>(op.kind) &&
        std::any_of(moved.begin(), moved.end(),
                    [&](std::size_t one) { return reduces_what(program.ops[one], op); })) {
      moved.insert(moved.begin(), i);
    }
  }
  if (const auto other = refusing_op(program, moved, *place)) {
    refuse(fmt::format("\"{}\" of layer {} makes some of them, and comes later",
                       program.ops[*other].name, program.ops[*other].layer),
           expected_place(program, Phase::backward, stage, allowed_places(program, moved),
                          "expected no place for them"),
           program.ops[*other].name);
  }
  return moved_behind(std::move(program), moved, *place);
}

Program apply_all(Program program, std::span<const PlaceAllReduce> placings) {
  // Ops from there on alone are looked at and moved: in many micro-batches a small part of all.
  std::size_t first = first_place(program, Phase::backward);
  for (std::size_t i = 0; i < first; ++i) {
    const Op& op = program.ops[i];
    if (reduces_gradients(op) || std::holds_alternative<AddReturned>(op.kind)) first = i;
  }
  const auto begin = program.ops.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<Op> end(std::make_move_iterator(begin), std::make_move_iterator(program.ops.end()));
  program.ops.erase(begin, program.ops.end());
  std::vector<Op> ops = std::exchange(program.ops, std::move(end));
  for (const PlaceAllReduce& placing : placings) program = apply(std::move(program), placing);
  std::ranges::move(program.ops, std::back_inserter(ops));
  program.ops = std::move(ops);
  return program;
}

std::string subject(const PlaceAllReduce& placing) {
  return fmt::format("{} {}", placing.layer, placing.slice);
}

void write(nlohmann::json& object, const PlaceAllReduce& placing) {
  object["layer"] = placing.layer;
  object["slice"] = placing.slice;
  object["after"] = exchange_place_name(placing.after);
  object["at"] = placing.at;
}

PlaceAllReduce PlaceAllReduce::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PlaceAllReduce placing;
  placing.layer = static_cast<int>(input.integer("layer", -1, most));
  placing.slice = static_cast<int>(input.integer(key_of(input, "slice", "piece"), 0, most));
  placing.after = read_place(input);
  placing.at = static_cast<int>(input.integer("at", 0, most));
  return placing;
}

}  // namespace moe
