#include "moe/passes/place_weight_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/move_ops.h"

namespace moe {
namespace {

[[noreturn]] void refuse_placing(const PlaceWeightGradient& placing, const std::string& why) {
  throw std::invalid_argument(fmt::format(
      "place_weight_gradient: {} behind {} of layer {}{}: {}", db::shortened(placing.parameter),
      direction_name(placing.direction), placing.layer,
      placing.chunk > 0 ? fmt::format(", chunk {}", placing.chunk) : "", why));
}

TensorId gradient_named(const Program& program, const PlaceWeightGradient& placing) {
  for (const Parameter& parameter : program.parameters) {
    if (program.tensors[static_cast<std::size_t>(parameter.value)].name == placing.parameter) {
      return parameter.gradient;
    }
  }
  refuse_placing(placing, "no parameter is called that");
}

bool writes(const Op& op, TensorId tensor) {
  return std::any_of(op.writes.begin(), op.writes.end(),
                     [&](const Use& use) { return use.tensor == tensor; });
}

}  // namespace

bool makes_weight_gradients(const Program& program, const Op& op) {
  if (op.phase != Phase::backward || op.writes.empty() || is_communication(op) || comes_once(op)) {
    return false;
  }
  return std::all_of(op.writes.begin(), op.writes.end(), [&](const Use& use) {
    return std::any_of(program.parameters.begin(), program.parameters.end(),
                       [&](const Parameter& one) { return one.gradient == use.tensor; });
  });
}

Program apply(Program program, const PlaceWeightGradient& placing) {
  const TensorId gradient = gradient_named(program, placing);
  bool found = false;
  for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
    std::vector<std::size_t> makers;
    std::optional<std::size_t> target;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (op.micro_batch != micro_batch || op.phase != Phase::backward) continue;
      if (writes(op, gradient) && makes_weight_gradients(program, op)) makers.push_back(i);
      if (!target && op.layer == placing.layer && share_of(op).index == placing.chunk &&
          direction_of(op) == placing.direction) {
        target = i;
      }
    }
    if (makers.empty()) continue;
    found = true;
    if (!target) refuse_placing(placing, "no such exchange in the backward phase");
    if (program.ops[*target].stage != program.ops[makers.front()].stage) {
      refuse_placing(placing, "another pipeline stage has it");
    }
    if (const auto other = in_the_way(program, makers, *target)) {
      refuse_placing(placing,
                     fmt::format("\"{}\" stands between, and one uses what the other makes",
                                 program.ops[*other].name));
    }
    program = moved_behind(std::move(program), makers, *target);
  }
  if (!found) refuse_placing(placing, "no op of the backward phase makes its gradient alone");
  validate(program);
  return program;
}

std::string subject(const PlaceWeightGradient& placing) { return placing.parameter; }

void write(nlohmann::json& object, const PlaceWeightGradient& placing) {
  object["parameter"] = placing.parameter;
  object["layer"] = placing.layer;
  object["direction"] = direction_name(placing.direction);
  object["chunk"] = placing.chunk;
}

PlaceWeightGradient PlaceWeightGradient::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  PlaceWeightGradient placing;
  placing.parameter = input.text("parameter", "the name of a parameter");
  placing.layer = read_layer(input);
  placing.direction = read_direction(input);
  if (input.has("chunk")) placing.chunk = static_cast<int>(input.integer("chunk", 0, most));
  return placing;
}

}  // namespace moe
