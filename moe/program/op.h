#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "moe/ops/attention.h"
#include "moe/ops/copy.h"
#include "moe/ops/cosine.h"
#include "moe/ops/dense.h"
#include "moe/ops/draw.h"
#include "moe/ops/einsum.h"
#include "moe/ops/exchange.h"
#include "moe/ops/exchange_legs.h"
#include "moe/ops/expert.h"
#include "moe/ops/expert_bias.h"
#include "moe/ops/expert_replicas.h"
#include "moe/ops/gate.h"
#include "moe/ops/group_gate.h"
#include "moe/ops/hook.h"
#include "moe/ops/layer_norm.h"
#include "moe/ops/loss.h"
#include "moe/ops/pack.h"
#include "moe/ops/pass_on.h"
#include "moe/ops/rms_norm.h"
#include "moe/ops/rotary.h"
#include "moe/ops/split_selection.h"
#include "moe/ops/tensor_parallel.h"
#include "moe/ops/update.h"
#include "moe/rows/routing.h"
#include "moe/rows/tensor.h"

/// The closed set of operations. What each is stands in moe/ops, a family a file.
namespace moe {

enum class Stream : std::uint8_t { compute, inter_node, intra_node, copy, host };
inline constexpr int kStreamCount = 5;

enum class Phase : std::uint8_t { forward, backward, update };

using AnyOpKind = std::variant<
    EmbedTokens, EmbedTokensGradient, LayerNorm, LayerNormInputGradient, LayerNormWeightGradient,
    RmsNorm, RmsNormInputGradient, RmsNormWeightGradient, Linear, LinearInputGradient,
    LinearWeightGradient, Rotary, RotaryGradient, Attention, AttentionGradient, Add, Gelu,
    GeluGradient, Relu, ReluGradient, GatedSilu, GatedSiluGradient, Sigmoid, SigmoidGradient,
    Softmax, SelectExperts, SplitSelection, SelectExpertsGradient, SoftmaxGateGradient,
    LoadBalancingLoss, LoadBalancingLossGradient, RouterZLoss, RouterZLossGradient, AddNoise,
    AddNoiseGradient, DrawRanking, HashTokens, CosineLogits, CosineLogitsInputGradient,
    CosineLogitsWeightGradient, AddExpertBias, SumExpertLoads, AdjustExpertBias, ExchangeCounts,
    Permute, PermuteGradient, AllToAll, ExchangeInNode, ExchangeAcrossNodes, ExchangeStep,
    GatherRows, ScatterRows, SumShares, ExpertLinear, ExpertLinearInputGradient,
    ExpertLinearWeightGradient, Combine, CombineInputGradient, CombineWeightGradient, AllGather,
    ReduceScatter, PassOn, CrossEntropy, CrossEntropyGradient, AllReduce, AdamStep, SgdStep,
    SoftmaxGradient, ChooseTokens, SoftSlots, SoftSlotsGradient, DispatchMask, DispatchMaskGradient,
    EinsumRows, EinsumTokens, EinsumMask, Jitter, RoundBf16, PackRows, UnpackRows, SendExperts,
    ReturnGradients, AddReturned, OffloadRows, FetchRows, AwaitCopies>;

template <class Kind, class Variant>
inline constexpr bool is_alternative = false;
template <class Kind, class... Kinds>
inline constexpr bool is_alternative<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> ||
                                                                      ...);

/// One of them. Made, copied, moved and destroyed in op.cpp alone: what a variant of so many needs for that would else
/// be compiled in every source that has an Op.
struct OpKind : AnyOpKind {
  template <class Kind>
  requires is_alternative<Kind, AnyOpKind> OpKind(Kind kind) : OpKind() { become(std::move(kind)); }
  /// Defined in op.cpp, for every alternative.
  template <class Kind>
  void become(Kind kind);

  OpKind();
  OpKind(const OpKind&);
  OpKind(OpKind&&) noexcept;
  OpKind& operator=(const OpKind&);
  OpKind& operator=(OpKind&&) noexcept;
  ~OpKind();
};

struct Op {
  OpKind kind;
  std::vector<Use> reads;
  std::vector<Use> writes;
  std::string name;  ///< what a person reads in a timeline: "attention qkv", "all_to_all dispatch"
  int layer = -1;    ///< block of the model, -1 outside the blocks
  Phase phase = Phase::forward;
  Slice chunk{};  ///< which share of the layer's rows; {0, 1} = all
  Stream stream = Stream::compute;
  int micro_batch = 0;  ///< whose rows it works on; 0 too for what comes after all of them
  int stage = 0;        ///< of the pipeline, that carries it out; the one that sends, of PassOn
  Slice part{};  ///< which share of the micro-batch's tokens, where ops are cut along the batch
};

/// Ops that speak to other ranks.
template <class Kind>
concept Communicates = requires(const Kind& kind, const OpSizes& sizes) {
  { kind.group } -> std::convertible_to<GroupKind>;
  { kind.bytes_to_peers(sizes) } -> std::same_as<std::vector<std::int64_t>>;
};

/// Ops that move experts between ranks.
template <class Kind>
concept MovesExperts = requires(const Kind& kind, std::int64_t rows, int members) {
  { kind.moves(members) } -> std::same_as<std::vector<ExpertMove>>;
  { kind.block_rows(rows, members) } -> std::same_as<std::int64_t>;
  { kind.share } -> std::convertible_to<Slice>;
};

/// What every alternative of OpKind must say of itself (op_facts.h).
template <class Kind>
concept DescribesItself = requires(const Kind& kind, const OpSizes& sizes) {
  { Kind::facts } -> std::convertible_to<OpFacts>;
  { kind.work(sizes) } -> std::same_as<Work>;
}
&&(Communicates<Kind> == (Kind::facts.activity == Activity::communication)) &&
    ((requires(Kind kind) { kind.accumulate = true; }) == Kind::facts.writes.contain(Cut::sum));

template <class Variant>
inline constexpr bool all_describe_themselves = false;
template <class... Kinds>
inline constexpr bool all_describe_themselves<std::variant<Kinds...>> = (DescribesItself<Kinds> &&
                                                                         ...);
static_assert(all_describe_themselves<AnyOpKind>, "an op kind lacks its facts, work or group");

template <class Variant>
inline constexpr bool no_name_twice = false;
template <class... Kinds>
inline constexpr bool no_name_twice<std::variant<Kinds...>> = [] {
  const std::string_view names[]{Kinds::facts.name...};
  for (std::size_t i = 0; i < sizeof...(Kinds); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}();
static_assert(no_name_twice<AnyOpKind>, "two op kinds have one name");

const OpFacts& facts_of(const Op& op);
std::string_view kind_name(const Op& op);
/// The group that a communication takes place in; none for what stays on its rank.
std::optional<GroupKind> group_of(const Op& op);
bool is_communication(const Op& op);
/// True for an AllToAll, and for a leg or a step of one.
bool is_all_to_all(const Op& op);
/// Where the rows of an AllToAll, or of a leg or a step of one, go: to the experts or back; none for other ops.
std::optional<Direction> direction_of(const Op& op);
/// True for what a Communicator's all_to_all_v carries out: whatever exchanges routed rows (row_layout.h).
bool exchanges_rows(const Op& op);
/// True for the exchange that tells every rank how many routed rows of Op::layer it has.
bool binds_routing(const Op& op);
/// True for what a Communicator's all_to_all_v carries out between tensors of fixed rows: experts' parameters and
/// gradients on their way between ranks (expert_moves.h).
bool moves_experts(const Op& op);
/// True for the sum of gradients over ranks that hold copies of a parameter.
bool reduces_gradients(const Op& op);
/// True for what brings the gradients of replicated experts home and adds them there.
bool brings_gradients_home(const Op& op);
/// True for what comes once in an iteration, after all its micro-batches: gradients brought home and reduced,
/// parameters updated.
bool comes_once(const Op& op);
/// True for an op that ranks of this stage take part in.
bool runs_in(const Op& op, int stage);
/// Whose routing it binds, or uses.
RoutedLayer routed_layer(const Op& op);
/// Which piece of its layer's work it is, cut along the batch, along the routed rows or not at all.
Slice piece_of(const Op& op);

/// True when some alternative has this kind_name.
bool is_kind_name(std::string_view name);

/// The same op for a later slice of its rows: what it writes as a sum (Cut::sum) is added to, and so
/// also read.
Op accumulating(Op op);

std::string_view stream_name(Stream stream);
std::string_view phase_name(Phase phase);

}  // namespace moe
