#include "moe/passes/place_weight_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "moe/input/value.h"

namespace moe {
namespace {

[[noreturn]] void refuse_placing(const PlaceWeightGradient& placing, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("place_weight_gradient: {} behind {} of layer {}{}: {}",
                  shortened(placing.parameter), direction_name(placing.direction), placing.layer,
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

/// True where the two may not change places.
bool depend(const Op& a, const Op& b) {
  const auto meet = [](const std::vector<Use>& some, const std::vector<Use>& others) {
    return std::any_of(some.begin(), some.end(), [&](const Use& use) {
      return std::any_of(others.begin(), others.end(), [&](const Use& other) {
        return use.tensor == other.tensor && overlap(use.slice, other.slice);
      });
    });
  };
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

/// The makers, by place, may stand behind `target`.
void check_movable(const Program& program, const PlaceWeightGradient& placing,
                   const std::vector<std::size_t>& makers, std::size_t target) {
  const std::size_t first = std::min(makers.front(), target + 1);
  const std::size_t end = std::max(makers.back(), target + 1);
  for (std::size_t i = first; i < end; ++i) {
    if (std::find(makers.begin(), makers.end(), i) != makers.end()) continue;
    for (const std::size_t maker : makers) {
      const bool change_places = i <= target ? maker < i : maker > i;
      if (change_places && depend(program.ops[maker], program.ops[i])) {
        refuse_placing(placing,
                       fmt::format("\"{}\" stands between, and one uses what the other makes",
                                   program.ops[i].name));
      }
    }
  }
}

void move_behind(Program& program, const std::vector<std::size_t>& makers, std::size_t target) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (std::find(makers.begin(), makers.end(), i) == makers.end()) order.push_back(i);
    if (i == target) order.insert(order.end(), makers.begin(), makers.end());
  }
  std::vector<Op> ops;
  for (const std::size_t i : order) ops.push_back(std::move(program.ops[i]));
  program.ops = std::move(ops);
}

}  // namespace

bool makes_weight_gradients(const Program& program, const Op& op) {
  if (op.phase != Phase::backward || op.writes.empty() || is_communication(op)) return false;
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
      if (!target && op.layer == placing.layer && piece_of(op).index == placing.chunk &&
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
    check_movable(program, placing, makers, *target);
    move_behind(program, makers, *target);
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
  placing.layer = static_cast<int>(input.integer("layer", 0, most));
  placing.direction = static_cast<Direction>(
      input.member("direction", "a direction").one_of({kDirectionNames[0], kDirectionNames[1]}));
  if (input.has("chunk")) placing.chunk = static_cast<int>(input.integer("chunk", 0, most));
  return placing;
}

}  // namespace moe
