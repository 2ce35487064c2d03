#include "moe/passes/replicate_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/value.h"
#include "moe/passes/decision_fields.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/way_out.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 3> kRowsOfOthers{"home", "spread", "balanced"};
constexpr std::int64_t kMostSlots = 4096;
constexpr std::array<std::string_view, 3> kLateRules{"ultraep", "moonep", "llep"};
constexpr std::array<std::string_view, 2> kLateDomains{"all", "node"};
constexpr std::array<std::string_view, 2> kSlotsOf{"each_layer", "all_layers"};
constexpr std::array<std::string_view, 2> kBalancedBy{"optimum", "interior_point"};
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
  /// `suffix`: of the names of tensors. `returned`: gradients that a home gets at most.
  Replicas(Program& program, int own, int replica_slots, int returned, std::string suffix)
      : program_(program),
        own_(own),
        replica_slots_(replica_slots),
        returned_(returned),
        suffix_(std::move(suffix)) {}

  /// The tensor of replicas of a parameter, or of its gradient.
  TensorId of(TensorId own) { return beside(replica_of_, own, replica_slots_, "replicas"); }
  /// That of a parameter's replicas that are sent again.
  TensorId again(TensorId own) { return beside(again_of_, own, replica_slots_, "replicas.again"); }
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
      tensor.name += fmt::format(".{}{}", what, suffix_);
      tensor.role = Role::replica;
      tensor.rows = tensor.rows / own_ * blocks;
      program_.tensors.push_back(std::move(tensor));
    }
    return found->second;
  }

  Program& program_;
  int own_, replica_slots_, returned_;
  std::string suffix_;
  std::map<TensorId, TensorId> replica_of_, again_of_, returned_of_;
};

/// Parameters and gradients of the layer's experts, in the order in which its ops use them.
struct ExpertTensors {
  std::vector<TensorId> parameters, sent_again, gradients;
};

void add_once(std::vector<TensorId>& tensors, TensorId tensor) {
  if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) tensors.push_back(tensor);
}

/// The backward phase of the layer in a micro-batch, by places among the ops.
struct BackwardPlaces {
  std::optional<std::size_t> begin;
  TensorId arriving = -1;  ///< a gradient of tokens with which it begins
  std::size_t sent = 0;    ///< behind its exchanges of rows and the gradients of replicas
  std::size_t end = 0;
};

/// The replicas of all micro-batches together, or where they are chosen after the gate, of one.
struct Copies {
  int micro_batch = 0;
  Replicas replicas;
  bool sends_again = false;  ///< before backward (SlotsOf::all_layers)
  ExpertTensors tensors{};
  std::optional<std::size_t> first_routed{};  ///< the first op that needs them
  BackwardPlaces backward{};

  /// The replicas of a parameter that the op reads.
  TensorId read_by(const Op& op, TensorId parameter) {
    if (!sends_again || op.phase == Phase::forward) return replicas.of(parameter);
    add_once(tensors.sent_again, parameter);
    return replicas.again(parameter);
  }
};

/// Makes the op compute the replicas too. The weight gradient of replicas is an op of its own,
/// which follows. `apart`: its sum is over one micro-batch.
void add_replicas(Op& op, int replica_slots, bool apart, Copies& copies,
                  std::vector<Op>& afterwards) {
  Replicas& replicas = copies.replicas;
  ExpertTensors& tensors = copies.tensors;
  if (auto* linear = std::get_if<ExpertLinear>(&op.kind)) {
    linear->replica_slots = replica_slots;
    for (std::size_t i = 1, own = op.reads.size(); i < own; ++i) {
      add_once(tensors.parameters, op.reads[i].tensor);
      op.reads.push_back({copies.read_by(op, op.reads[i].tensor)});
    }
  } else if (auto* input = std::get_if<ExpertLinearInputGradient>(&op.kind)) {
    input->replica_slots = replica_slots;
    op.reads.push_back({copies.read_by(op, op.reads.at(1).tensor)});
  } else if (const auto* weight = std::get_if<ExpertLinearWeightGradient>(&op.kind)) {
    Op of_replicas = op;
    of_replicas.name += " of replicas";
    // The first of a micro-batch begins its sum; chunks that are there already add to it.
    const bool begins =
        apart && std::ranges::none_of(op.writes, [&copied = tensors.gradients](const Use& use) {
          return std::ranges::find(copied, use.tensor) != copied.end();
        });
    of_replicas.kind = ExpertLinearWeightGradient{replica_slots, weight->accumulate && !begins,
                                                  weight->local_experts};
    for (Use& use : of_replicas.writes) {
      add_once(tensors.gradients, use.tensor);
      use.tensor = replicas.of(use.tensor);
    }
    if (begins) of_replicas.reads.resize(2);  // without a sum of the micro-batches before
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
           const LayerExperts& experts, Copies& copies) {
  Op op;
  op.micro_batch = copies.micro_batch;
  op.kind = SendExperts{{placement, experts.own, experts.all}};
  op.name = "send experts";
  op.layer = replicating.layer;
  op.stage = experts.stage;
  op.reads = whole_uses(copies.tensors.parameters);
  for (const Use& parameter : op.reads) {
    op.writes.push_back({copies.replicas.of(parameter.tensor)});
  }
  return op;
}

/// For backward. It waits for the gradient that arrives there, so that other layers' replicas have
/// been used before.
Op send_again_op(Op send, Copies& copies) {
  send = repeated(std::move(send));
  send.reads = whole_uses(copies.tensors.sent_again);
  send.writes.clear();
  for (const Use& parameter : send.reads) {
    send.writes.push_back({copies.replicas.again(parameter.tensor)});
  }
  if (copies.backward.arriving >= 0) send.reads.push_back({copies.backward.arriving});
  return send;
}

std::vector<Op> return_ops(const ReplicateExperts& replicating, const ExpertPlacement& placement,
                           const LayerExperts& experts, Copies& copies) {
  Replicas& replicas = copies.replicas;
  const ExpertTensors& tensors = copies.tensors;
  Op home;
  home.micro_batch = copies.micro_batch;
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

/// Finds the places of BackwardPlaces, op by op.
class BackwardOfLayer {
 public:
  explicit BackwardOfLayer(const Program& program)
      : program_(program), made_at_(program.tensors.size(), kNever) {}

  /// `place`: of the op, which `followers` gradients of replicas will follow; `copies`: of its
  /// micro-batch, nullptr for an op of another layer.
  void look_at(const Op& op, std::size_t place, std::size_t followers, Copies* copies) {
    if (op.phase != Phase::backward) return;
    if (copies != nullptr && !std::holds_alternative<PassOn>(op.kind) && !comes_once(op)) {
      BackwardPlaces& places = copies->backward;
      if (!places.begin) places.begin = place;
      for (const Use& use : op.reads) {
        if (places.arriving < 0 && arrives(use.tensor, *copies)) places.arriving = use.tensor;
      }
      places.end = place + 1 + followers;
      if (followers > 0 || exchanges_rows(op)) places.sent = places.end;
    }
    for (const Use& use : op.writes) {
      if (is_known(use.tensor)) made_at_[use.tensor] = std::min(made_at_[use.tensor], place);
    }
  }

 private:
  static constexpr auto kNever = std::numeric_limits<std::size_t>::max();
  bool is_known(TensorId tensor) const {
    return static_cast<std::size_t>(tensor) < made_at_.size();
  }
  /// An op's stored operands have one type (OpFacts), here that of the parameters.
  bool arrives(TensorId tensor, const Copies& copies) const {
    const Tensor& t = program_.tensors[tensor];
    return is_known(tensor) && t.role == Role::activation && t.rows_are == Rows::fixed &&
           t.dtype == program_.tensors[copies.tensors.parameters.front()].dtype &&
           made_at_[tensor] < *copies.backward.begin;
  }

  const Program& program_;
  std::vector<std::size_t> made_at_;  ///< [tensor]: where backward first wrote it
};

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
  if (is_late(replicating.placement) && !replicating.placement.replicas.empty()) {
    refuse_replicas(replicating, "after_gate and replicas", "expected one of them");
  }
  if (experts.padded && shares_rows_out(replicating.placement)) {
    refuse_replicas(
        replicating, "rows are padded, so every pair of rank and expert has as many",
        "expected rows_of_others home or spread, or exchange = \"irregular\" in the model");
  }
  const int elsewhere = experts.all - experts.all / members;  // seen from a rank with the fewest
  if (replicating.placement.late.slots > elsewhere) {
    refuse_replicas(replicating,
                    fmt::format("{} slots for the {} experts of other ranks",
                                replicating.placement.late.slots, elsewhere),
                    fmt::format("expected at most {}", elsewhere));
  }
  ExpertPlacement placement = replicating.placement;
  placement.homes = homes_of(program.homes, replicating.layer);
  // A home then gets one gradient for each of its experts, however many hold it.
  if (is_late(placement)) placement.route = ExpertRoute::ring;
  ExpertSlots slots;
  try {
    slots = expert_slots(placement, experts.all, members);
  } catch (const Refusal& refusal) {
    throw within(described(replicating), refusal);
  }
  if (slots.replica_slots == 0) {
    refuse_replicas(replicating, "no replicas", "expected at least one expert");
  }

  const bool late = is_late(placement);
  const bool shared = late && placement.late.slots_of == SlotsOf::all_layers;
  std::map<int, Copies> all;
  const auto copies_of = [&](const Op& op) -> Copies& {
    const int micro_batch = late ? op.micro_batch : 0;
    const auto found = all.find(micro_batch);
    if (found != all.end()) return found->second;
    Replicas replicas(
        program, experts.own, slots.replica_slots,
        late ? std::min(experts.own, (members - 1) * slots.replica_slots) : most_returned(slots),
        micro_batch > 0 ? fmt::format(".{}", micro_batch) : std::string());
    return all.emplace(micro_batch, Copies{micro_batch, std::move(replicas), shared}).first->second;
  };
  BackwardOfLayer backward(program);
  std::vector<Op> ops;
  std::optional<std::size_t> first_once;
  for (Op& op : std::exchange(program.ops, {})) {
    std::vector<Op> afterwards;
    Copies* copies = nullptr;
    if (op.layer == replicating.layer) {
      const bool routed = uses_routed_rows(program, op);
      if (routed || !all.empty()) {
        copies = &copies_of(op);
        if (!copies->first_routed && routed) copies->first_routed = ops.size();
        add_replicas(op, slots.replica_slots, late, *copies, afterwards);
      }
    }
    if (shared) backward.look_at(op, ops.size(), afterwards.size(), copies);
    if (!first_once && comes_once(op)) first_once = ops.size();
    ops.push_back(std::move(op));
    std::move(afterwards.begin(), afterwards.end(), std::back_inserter(ops));
  }
  std::map<std::size_t, std::vector<Op>> added;  // before these ops
  for (auto& [micro_batch, copies] : all) {
    if (!copies.first_routed) continue;
    Op send = send_op(replicating, placement, experts, copies);
    if (!copies.tensors.sent_again.empty()) {
      added[*copies.backward.begin].push_back(send_again_op(send, copies));
    }
    added[*copies.first_routed].push_back(std::move(send));
    if (copies.tensors.gradients.empty()) continue;
    std::vector<Op> home = return_ops(replicating, placement, experts, copies);
    const std::size_t at_the_end = first_once.value_or(ops.size());
    added[shared ? copies.backward.sent : at_the_end].push_back(std::move(home[0]));
    added[shared ? copies.backward.end : at_the_end].push_back(std::move(home[1]));
  }
  for (std::size_t i = 0; i <= ops.size(); ++i) {
    if (const auto here = added.find(i); here != added.end()) {
      std::ranges::move(here->second, std::back_inserter(program.ops));
    }
    if (i < ops.size()) program.ops.push_back(std::move(ops[i]));
  }
  raise_bounds(program, replicating.layer, slots);
  return program;
}

std::string subject(const ReplicateExperts& replicating) {
  return std::to_string(replicating.layer);
}

void write(nlohmann::json& object, const ReplicateExperts& replicating) {
  object["layer"] = replicating.layer;
  const LateCopies& late = replicating.placement.late;
  const bool is_chosen_late = is_late(replicating.placement);
  object["rows_of_others"] =
      name_of(is_chosen_late ? RowsOfOthers::balanced : replicating.placement.rows_of_others);
  if (is_chosen_late) {
    object["after_gate"] = {{"rule", kLateRules[static_cast<std::size_t>(late.rule)]},
                            {"slots", late.slots}};
    if (late.rule == LateRule::llep) {
      object["after_gate"]["alpha"] = late.alpha;
      object["after_gate"]["least_rows"] = late.least_rows;
    }
    if (late.domain != LateDomain::all) {
      object["after_gate"]["domain"] = kLateDomains[static_cast<std::size_t>(late.domain)];
    }
    if (late.slots_of != SlotsOf::each_layer) {
      object["after_gate"]["slots_of"] = kSlotsOf[static_cast<std::size_t>(late.slots_of)];
    }
    return;
  }
  if (replicating.placement.balanced_by != BalancedBy::optimum) {
    object["balanced_by"] =
        kBalancedBy[static_cast<std::size_t>(replicating.placement.balanced_by)];
  }
  // Without a route it is unicast: so the identity of stored schedules stays.
  if (replicating.placement.route != ExpertRoute::unicast) {
    object["route"] = kExpertRouteNames[static_cast<std::size_t>(replicating.placement.route)];
  }
  object["replicas"] = nlohmann::json::array();
  for (const ReplicatedExpert& replica : replicating.placement.replicas) {
    object["replicas"].push_back({{"expert", replica.expert}, {"holders", replica.holders}});
  }
}

namespace {

LateCopies read_late_copies(const InputObject& input) {
  LateCopies late;
  late.rule = static_cast<LateRule>(
      input.member("rule", "a rule").one_of({kLateRules.begin(), kLateRules.end()}));
  late.slots = static_cast<int>(input.integer("slots", 1, kMostSlots));
  if (input.has("domain")) {
    late.domain = static_cast<LateDomain>(input.member("domain", "among whom loads are evened")
                                              .one_of({kLateDomains.begin(), kLateDomains.end()}));
  }
  if (input.has("slots_of")) {
    late.slots_of = static_cast<SlotsOf>(input.member("slots_of", "whose slots they are")
                                             .one_of({kSlotsOf.begin(), kSlotsOf.end()}));
  }
  if (late.rule != LateRule::llep) return late;
  late.alpha = input.number_or("alpha", late.alpha, 1, 16, "a number from 1 to 16");
  if (input.has("least_rows")) {
    late.least_rows = input.integer("least_rows", 1, std::numeric_limits<int>::max());
  }
  return late;
}

}  // namespace

ReplicateExperts ReplicateExperts::read(const InputObject& input) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  ReplicateExperts replicating;
  replicating.layer = read_layer(input);
  if (input.has("after_gate")) {
    replicating.placement.late =
        read_late_copies(input.object("after_gate", "a rule after the gate"));
    replicating.placement.rows_of_others = RowsOfOthers::balanced;
    if (input.has("rows_of_others")) {
      input.member("rows_of_others", "where rows of others go")
          .one_of({name_of(RowsOfOthers::balanced)});
    }
    return replicating;
  }
  if (input.has("rows_of_others")) {
    replicating.placement.rows_of_others =
        static_cast<RowsOfOthers>(input.member("rows_of_others", "where rows of others go")
                                      .one_of({kRowsOfOthers.begin(), kRowsOfOthers.end()}));
  }
  if (replicating.placement.rows_of_others == RowsOfOthers::balanced && input.has("balanced_by")) {
    replicating.placement.balanced_by =
        static_cast<BalancedBy>(input.member("balanced_by", "what shares rows out")
                                    .one_of({kBalancedBy.begin(), kBalancedBy.end()}));
  }
  if (input.has("route")) {
    replicating.placement.route =
        static_cast<ExpertRoute>(input.member("route", "the way of parameters and gradients")
                                     .one_of({kExpertRouteNames.begin(), kExpertRouteNames.end()}));
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
