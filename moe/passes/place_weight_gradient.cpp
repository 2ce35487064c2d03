#include "moe/passes/place_weight_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/move_ops.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

/// "dispatch of layer 1, chunk 2"
std::string exchange_text(Direction direction, int layer, int chunk) {
  return fmt::format("{} of layer {}{}", direction_name(direction), layer,
                     chunk > 0 ? fmt::format(", chunk {}", chunk) : "");
}

[[noreturn]] void refuse_placing(const PlaceWeightGradient& placing, std::string_view why,
                                 std::string way_out, std::string op = {}) {
  throw Refusal(fmt::format("place_weight_gradient: {} after {}", db::shortened(placing.parameter),
                            exchange_text(placing.direction, placing.layer, placing.chunk)),
                why, std::move(way_out), {std::move(op), placing.layer});
}

/// The exchanges of a micro-batch that its ops at `makers`, which make the gradient, may follow.
std::string expected_exchange(const Program& program, const std::vector<std::size_t>& makers) {
  const PlacesAfter places = allowed_places(program, makers);
  const Op& maker = program.ops[makers.front()];
  std::vector<std::string> names;
  for (std::size_t i = places.first; i < places.end; ++i) {
    const Op& op = program.ops[i];
    const auto direction = direction_of(op);
    if (!direction || op.phase != Phase::backward || is_repeated(op) ||
        op.micro_batch != maker.micro_batch || op.stage != maker.stage) {
      continue;
    }
    names.push_back(exchange_text(*direction, op.layer, share_of(op).index));
  }
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return expected_one_of(names, "expected no decision about it");
}

/// The parameters of the layer; those of all layers where it has none.
std::string expected_parameter(const Program& program, int layer) {
  std::vector<std::string> names, all;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    if (parameter.layer == layer) names.push_back(tensor.name);
    all.push_back(tensor.name);
  }
  return expected_one_of(names.empty() ? all : names, "expected a model with parameters");
}

TensorId gradient_named(const Program& program, const PlaceWeightGradient& placing) {
  for (const Parameter& parameter : program.parameters) {
    if (program.tensors[parameter.value].name == placing.parameter) {
      return parameter.gradient;
    }
  }
  refuse_placing(placing, "no parameter is called that",
                 expected_parameter(program, placing.layer));
}

}  // namespace

bool makes_weight_gradients(const Program& program, const Op& op) {
  if (op.phase != Phase::backward || op.writes.empty() || is_communication(op) || comes_once(op) ||
      brings_gradients_home(op)) {
    return false;
  }
  return std::all_of(op.writes.begin(), op.writes.end(), [&](const Use& use) {
    return std::any_of(program.parameters.begin(), program.parameters.end(),
                       [&](const Parameter& one) { return one.gradient == use.tensor; });
  });
}

namespace {

/// The ops of backward that are moved, and the exchanges that they are moved behind, from one scan
/// of the Program. An op is told by the place that it had then.
struct BackwardOps {
  std::map<std::pair<TensorId, int>, std::vector<std::size_t>> makers;  ///< [gradient, micro-batch]
  /// [micro-batch, layer, chunk, direction]: the first.
  std::map<std::tuple<int, int, int, Direction>, std::size_t> exchanges;
  std::vector<std::size_t> op_at, place_of;

  BackwardOps(const Program& program, const std::set<TensorId>& gradients)
      : op_at(program.ops.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (op.phase != Phase::backward) continue;
      std::set<TensorId> made;
      for (const Use& use : op.writes) {
        if (gradients.contains(use.tensor)) made.insert(use.tensor);
      }
      if (!made.empty() && makes_weight_gradients(program, op)) {
        for (const TensorId gradient : made) makers[{gradient, op.micro_batch}].push_back(i);
      }
      if (const auto direction = direction_of(op); direction && !is_repeated(op)) {
        exchanges.try_emplace({op.micro_batch, op.layer, share_of(op).index, *direction}, i);
      }
    }
    std::iota(op_at.begin(), op_at.end(), std::size_t{0});
    place_of = op_at;
  }
};

}  // namespace

Program apply(Program program, const PlaceWeightGradient& placing) {
  return apply_all(std::move(program), std::span(&placing, 1));
}

Program apply_all(Program program, std::span<const PlaceWeightGradient> placings) {
  std::set<TensorId> gradients;
  for (const PlaceWeightGradient& one : placings) gradients.insert(gradient_named(program, one));
  BackwardOps backward(program, gradients);
  for (const PlaceWeightGradient& placing : placings) {
    const TensorId gradient = gradient_named(program, placing);
    bool found = false;
    for (int micro_batch = 0; micro_batch < program.micro_batches; ++micro_batch) {
      std::vector<std::size_t> makers;
      for (const std::size_t op : backward.makers[{gradient, micro_batch}]) {
        makers.push_back(backward.place_of[op]);
      }
      if (makers.empty()) continue;
      std::ranges::sort(makers);
      found = true;
      const auto refuse = [&](std::string_view why, std::string op = {}) {
        refuse_placing(placing, why, expected_exchange(program, makers), std::move(op));
      };
      const auto exchange =
          backward.exchanges.find({micro_batch, placing.layer, placing.chunk, placing.direction});
      if (exchange == backward.exchanges.end()) refuse("no such exchange in the backward phase");
      const std::size_t target = backward.place_of[exchange->second];
      if (program.ops[target].stage != program.ops[makers.front()].stage) {
        refuse("another pipeline stage has it");
      }
      if (const auto other = refusing_op(program, makers, target)) {
        refuse(fmt::format("\"{}\" stands between, and one uses what the other makes",
                           program.ops[*other].name),
               program.ops[*other].name);
      }
      move_behind(program.ops, makers, target);
      const Changed changed = move_behind(backward.op_at, makers, target);
      for (std::size_t place = changed.begin; place < changed.end; ++place) {
        backward.place_of[backward.op_at[place]] = place;
      }
    }
    if (found) continue;
    refuse_placing(placing, "no op of the backward phase makes its gradient alone",
                   "expected a weight of a linear layer or of the experts");
  }
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
