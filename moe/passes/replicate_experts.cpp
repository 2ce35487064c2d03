#include "moe/passes/replicate_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 3> kRowsOfOthers{"home", "spread", "balanced"};
constexpr std::array<std::string_view, kExpertRoutes> kExpertRouteNames{"unicast", "ring"};

std::string described(const ReplicateExperts& replicating) {
  return fmt::format("replicate_experts: layer {}", replicating.layer);
}

[[noreturn]] void refuse_replicas(const ReplicateExperts& replicating, std::string_view why,
                                  std::string way_out) {
  throw Refusal(described(replicating), why, std::move(way_out), {"", replicating.layer});
}

std::string_view name_of(RowsOfOthers rows) {
  return kRowsOfOthers[static_cast<std::size_t>(rows)];
}

Tensor& tensor_at(Program& program, TensorId tensor) { return program.tensors[tensor]; }

/// The number of experts that a rank of the layer has room for and that of all, and the stage of the
/// layer. Throws where there are no experts.
struct LayerExperts {
  int own = 0;
  int all = 0;
  int stage = 0;
  bool padded = false;  ///< every pair of rank and expert has the same number of rows
};
LayerExperts experts_of(const Program& program, const ReplicateExperts& replicating) {
  std::optional<LayerExperts> found;
  bool padded = false;
  for (const Op& op : program.ops) {
    if (op.layer != replicating.layer) continue;
    if (std::holds_alternative<SendExperts>(op.kind)) {
      refuse_replicas(replicating, "its experts are replicated already",
                      "expected one decision for each layer");
    }
    padded = padded || std::holds_alternative<GatherLoads>(op.kind);
    if (const auto* experts = std::get_if<ExpertLinear>(&op.kind)) {
      found = LayerExperts{experts->local_experts, experts_in_layer(program, op.layer), op.stage,
                           padded};
    }
  }
  if (!found) refuse_replicas(replicating, "no experts there", expected_moe_layer(program));
  return *found;
}

/// The tensors of expert replicas, which a rank has in addition to those of its own experts.
class Replicas {
 public:
  Replicas(Program& program, int own, const ExpertSlots& slots)
      : program_(program),
        own_(own),
        replica_slots_(slots.replica_slots),
        returned_(most_returned(slots)) {}

  /// The tensor of replicas of a parameter, or of its gradient.
  TensorId of(TensorId own) { return beside(replica_of_, own, replica_slots_, "replicas"); }
  /// The tensor in which the gradients of replicas arrive at home.
  TensorId returned(TensorId gradient) {
    return beside(returned_of_, gradient, returned_, "returned");
  }

 private:
  TensorId beside(std::map<TensorId, TensorId>& known, TensorId own, int blocks, const char* what) {
    const auto [found, added] =
        known.try_emplace(own, static_cast<TensorId>(program_.tensors.size()));
    if (added) {
      Tensor tensor = tensor_at(program_, own);
      tensor.name += fmt::format(".{}", what);
      tensor.role = Role::replica;
      tensor.rows = tensor.rows / own_ * blocks;
      program_.tensors.push_back(std::move(tensor));
    }
    return found->second;
  }

  Program& program_;
  int own_, replica_slots_, returned_;
  std::map<TensorId, TensorId> replica_of_, returned_of_;
};

/// Parameters and gradients of the layer's experts, in the order in which its ops use them.
struct ExpertTensors {
  std::vector<TensorId> parameters, gradients;
};

void add_once(std::vector<TensorId>& tensors, TensorId tensor) {
  if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) tensors.push_back(tensor);
}

/// Makes the op compute the replicas too. The weight gradient of replicas is an op of its own,
/// which follows.
void add_replicas(Op& op, int replica_slots, Replicas& replicas, ExpertTensors& tensors,
                  std::vector<Op>& afterwards) {
  if (auto* linear = std::get_if<ExpertLinear>(&op.kind)) {
    linear->replica_slots = replica_slots;
    for (std::size_t i = 1, own = op.reads.size(); i < own; ++i) {
      add_once(tensors.parameters, op.reads[i].tensor);
      op.reads.push_back({replicas.of(op.reads[i].tensor)});
    }
  } else if (auto* input = std::get_if<ExpertLinearInputGradient>(&op.kind)) {
    input->replica_slots = replica_slots;
    op.reads.push_back({replicas.of(op.reads.at(1).tensor)});
  } else if (const auto* weight = std::get_if<ExpertLinearWeightGradient>(&op.kind)) {
    Op of_replicas = op;
    of_replicas.name += " of replicas";
    of_replicas.kind =
        ExpertLinearWeightGradient{replica_slots, weight->accumulate, weight->local_experts};
    for (Use& use : of_replicas.writes) {
      add_once(tensors.gradients, use.tensor);
      use.tensor = replicas.of(use.tensor);
    }
    for (std::size_t i = 2; i < of_replicas.reads.size(); ++i) {
      of_replicas.reads[i].tensor = replicas.of(of_replicas.reads[i].tensor);
    }
    afterwards.push_back(std::move(of_replicas));
  }
}

std::vector<Use> whole_uses(const std::vector<TensorId>& tensors) {
  std::vector<Use> uses;
  for (const TensorId tensor : tensors) uses.push_back({tensor});
  return uses;
}

Op send_op(const ReplicateExperts& replicating, const ExpertPlacement& placement,
           const LayerExperts& experts, Replicas& replicas, const ExpertTensors& tensors) {
  Op op;
  op.kind = SendExperts{{placement, experts.own, experts.all}};
  op.name = "send experts";
  op.layer = replicating.layer;
  op.stage = experts.stage;
  op.reads = whole_uses(tensors.parameters);
  for (const TensorId parameter : tensors.parameters) op.writes.push_back({replicas.of(parameter)});
  return op;
}

std::vector<Op> return_ops(const ReplicateExperts& replicating, const ExpertPlacement& placement,
                           const LayerExperts& experts, Replicas& replicas,
                           const ExpertTensors& tensors) {
  Op home;
  home.layer = replicating.layer;
  home.stage = experts.stage;
  home.phase = Phase::backward;
  Op add = home;
  home.kind = ReturnGradients{{placement, experts.own, experts.all}};
  home.name = "return gradients";
  add.kind = AddReturned{{placement, experts.own, experts.all}};
  add.name = "add returned gradients";
  for (const TensorId gradient : tensors.gradients) {
    home.reads.push_back({replicas.of(gradient)});
    home.writes.push_back({replicas.returned(gradient)});
  }
  add.reads = home.writes;
  add.writes = whole_uses(tensors.gradients);
  add.reads.insert(add.reads.end(), add.writes.begin(), add.writes.end());
  return {std::move(home), std::move(add)};
}

/// Makes room for the rows that a rank can receive for its replicas. Without replicas a rank
/// receives at most R rows for D experts, as many from each of P ranks. For G replicas it computes
/// its own rows (home), or rows of any rank (spread, balanced).
void raise_bounds(Program& program, int layer, const ExpertSlots& slots) {
  const std::int64_t members = program.groups.layout.expert;
  const std::int64_t sharing = program.groups.layout.expert_sharded;
  std::int64_t most_sent = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.layer == layer && tensor.rows_are == Rows::sent) most_sent = tensor.rows;
  }
  const std::int64_t share = slots.rows_of_others == RowsOfOthers::home ? members : 1;
  for (Tensor& tensor : program.tensors) {
    if (tensor.layer != layer || tensor.rows == 0) continue;
    const std::int64_t ranks = tensor.rows_are == Rows::gathered ? sharing : 1;
    if (tensor.rows_are != Rows::received && tensor.rows_are != Rows::gathered) continue;
    const std::int64_t received = tensor.rows / ranks, parts = share * slots.own;
    const std::int64_t more = (received * slots.replica_slots + parts - 1) / parts;
    tensor.rows = ranks * std::max(received, std::min(received + more, members * most_sent));
  }
}

}  // namespace

Program apply(Program program, const ReplicateExperts& replicating) {
  const LayerExperts experts = experts_of(program, replicating);
  const int members = program.groups.layout.expert;
  if (members < 2) {
    refuse_replicas(replicating, "every rank has all experts",
                    "expected a layout with ep of at least 2");
  }
  if (!replicating.placement.homes.empty()) {
    refuse_replicas(replicating, "homes", "expected none here, place_experts says them");
  }
  if (experts.padded && replicating.placement.rows_of_others == RowsOfOthers::balanced) {
    refuse_replicas(
        replicating, "rows are padded, so every pair of rank and expert has as many",
        "expected rows_of_others home or spread, or exchange = \"irregular\" in the model");
  }
  ExpertPlacement placement = replicating.placement;
  placement.homes = homes_of(program.homes, replicating.layer);
  ExpertSlots slots;
  try {
    slots = expert_slots(placement, experts.all, members);
  } catch (const Refusal& refusal) {
    throw within(described(replicating), refusal);
  }
  if (slots.replica_slots == 0) {
    refuse_replicas(replicating, "no replicas", "expected at least one expert");
  }

  Replicas replicas(program, experts.own, slots);
  ExpertTensors tensors;
  std::vector<Op> ops;
  std::optional<std::size_t> first_routed, first_once;
  for (Op& op : std::exchange(program.ops, {})) {
    std::vector<Op> afterwards;
    if (op.layer == replicating.layer) {
      if (!first_routed && uses_routed_rows(program, op)) first_routed = ops.size();
      add_replicas(op, slots.replica_slots, replicas, tensors, afterwards);
    }
    if (!first_once && comes_once(op)) first_once = ops.size();
    ops.push_back(std::move(op));
    std::move(afterwards.begin(), afterwards.end(), std::back_inserter(ops));
  }
  const auto place = [&](std::size_t i) { return ops.begin() + static_cast<std::ptrdiff_t>(i); };
  if (!tensors.gradients.empty()) {
    std::vector<Op> home = return_ops(replicating, placement, experts, replicas, tensors);
    ops.insert(place(first_once.value_or(ops.size())), std::make_move_iterator(home.begin()),
               std::make_move_iterator(home.end()));
  }
  ops.insert(place(*first_routed), send_op(replicating, placement, experts, replicas, tensors));
  program.ops = std::move(ops);
  raise_bounds(program, replicating.layer, slots);
  return program;
}

std::string subject(const ReplicateExperts& replicating) {
  return std::to_string(replicating.layer);
}

void write(nlohmann::json& object, const ReplicateExperts& replicating) {
  object["layer"] = replicating.layer;
  object["rows_of_others"] = name_of(replicating.placement.rows_of_others);
  // Schedules that were stored before there were routes name none, and keep their identity.
  if (replicating.placement.route != ExpertRoute::unicast) {
    object["route"] = kExpertRouteNames[static_cast<std::size_t>(replicating.placement.route)];
  }
  object["replicas"] = nlohmann::json::array();
  for (const ReplicatedExpert& replica : replicating.placement.replicas) {
    object["replicas"].push_back({{"expert", replica.expert}, {"holders", replica.holders}});
  }
}

ReplicateExperts ReplicateExperts::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  ReplicateExperts replicating;
  replicating.layer = read_layer(input);
  if (input.has("rows_of_others")) {
    replicating.placement.rows_of_others =
        static_cast<RowsOfOthers>(input.member("rows_of_others", "where rows of others go")
                                      .one_of({kRowsOfOthers.begin(), kRowsOfOthers.end()}));
  }
  if (input.has("route")) {
    replicating.placement.route =
        static_cast<ExpertRoute>(input.member("route", "the way of parameters and gradients")
                                     .one_of({kExpertRouteNames[0], kExpertRouteNames[1]}));
  }
  for (const InputValue& entry : input.list("replicas", "a list of replicated experts")) {
    const InputObject object = entry.object("a replicated expert");
    ReplicatedExpert replica;
    replica.expert = static_cast<int>(object.integer("expert", 0, most));
    for (const std::int64_t holder :
         object.member("holders", "a list of ranks").integers(0, most)) {
      replica.holders.push_back(static_cast<int>(holder));
    }
    replicating.placement.replicas.push_back(std::move(replica));
  }
  return replicating;
}

}  // namespace moe
