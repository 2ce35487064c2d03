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
#include "moe/ops/gradient_norm.h"
#include "moe/ops/group_gate.h"
#include "moe/ops/hook.h"
#include "moe/ops/join_heads.h"
#include "moe/ops/layer_norm.h"
#include "moe/ops/loss.h"
#include "moe/ops/narrow.h"
#include "moe/ops/pack.h"
#include "moe/ops/padding.h"
#include "moe/ops/pass_on.h"
#include "moe/ops/query_key_norm.h"
#include "moe/ops/reduce_tied.h"
#include "moe/ops/rms_norm.h"
#include "moe/ops/rotary.h"
#include "moe/ops/split_selection.h"
#include "moe/ops/tensor_parallel.h"
#include "moe/ops/update.h"
#include "moe/rows/routing.h"
#include "moe/rows/tensor.h"

/// The closed set of operations. The files of moe/ops define the kinds, one family a file.
namespace moe {

enum class Stream : std::uint8_t { compute, inter_node, intra_node, copy, host };
inline constexpr int kStreamCount = 5;

enum class Phase : std::uint8_t { forward, backward, update };

using AnyOpKind = std::variant<
    EmbedTokens, EmbedTokensGradient, LayerNorm, LayerNormInputGradient, LayerNormWeightGradient,
    RmsNorm, RmsNormInputGradient, RmsNormWeightGradient, Linear, LinearInputGradient,
    LinearWeightGradient, JoinHeads, JoinHeadsGradient, QueryKeyNorm, QueryKeyNormInputGradient,
    QueryKeyNormWeightGradient, Rotary, RotaryGradient, Attention, AttentionGradient,
    AttentionSinkGradient, Add, Gelu, GeluGradient, Relu, ReluGradient, GatedSilu,
    GatedSiluGradient, ClampedSwiglu, ClampedSwigluGradient, Sigmoid, SigmoidGradient, Scale,
    ScaleRows, ScaleRowsGradient, Softmax, KeepBestGroups, SelectExperts, SplitSelection,
    SelectExpertsGradient, SoftmaxGateGradient, LoadBalancingLoss, LoadBalancingLossGradient,
    RouterZLoss, RouterZLossGradient, AddNoise, AddNoiseGradient, DrawRanking, HashTokens,
    CosineLogits, CosineLogitsInputGradient, CosineLogitsWeightGradient, AddExpertBias,
    SumExpertLoads, AdjustExpertBias, ExchangeCounts, Permute, PermuteGradient, AllToAll,
    ExchangeInNode, ExchangeAcrossNodes, ExchangeStep, GatherRows, ScatterRows, SumShares,
    ExpertLinear, ExpertLinearInputGradient, ExpertLinearWeightGradient, Combine,
    CombineInputGradient, CombineWeightGradient, AllGather, ReduceScatter, PassOn, CrossEntropy,
    CrossEntropyGradient, AllReduce, ReduceShares, GatherShares, AdamStep, SgdStep, SoftmaxGradient,
    ChooseTokens, BalanceRanking, SoftSlots, SoftSlotsGradient, DispatchMask, DispatchMaskGradient,
    EinsumRows, EinsumTokens, EinsumMask, Jitter, RoundBf16, PackRows, UnpackRows, SendExperts,
    ReturnGradients, AddReturned, OffloadRows, FetchRows, AwaitCopies, GatherLoads, PadOffsets,
    ClearPadding, VocabularyStatistics, SharedCrossEntropy, SumSquares, AddSquares, ReduceNorm,
    ClipFactor, Narrow, ReduceTied>;

template <class Kind, class Variant>
inline constexpr bool is_alternative = false;
template <class Kind, class... Kinds>
inline constexpr bool is_alternative<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> ||
                                                                      ...);

/// One alternative of AnyOpKind. It is made, copied, moved and destroyed in op.cpp only: the code
/// that a variant of so many alternatives needs for that would otherwise be compiled in every
/// source.
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

/// One op of a Program.
struct Op {
  OpKind kind;
  std::vector<Use> reads;
  std::vector<Use> writes;
  std::string name;  ///< the name that timelines show: "attention qkv", "all_to_all dispatch"
  int layer = -1;    ///< block of the model, -1 outside the blocks
  Phase phase = Phase::forward;
  Slice chunk{};  ///< the share of the layer's routed rows that it works on; {0, 1} = all
  Stream stream = Stream::compute;
  int micro_batch = 0;  ///< micro-batch that it works on; 0 for ops that run once after all
  int stage = 0;        ///< pipeline stage that carries it out; for PassOn the sending stage
  Slice part{};         ///< the share of the micro-batch's tokens that it works on; {0, 1} = all
};

/// Kinds that communicate with other ranks.
template <class Kind>
concept Communicates = requires(const Kind& kind, const OpSizes& sizes) {
  { kind.group } -> std::convertible_to<GroupKind>;
  { kind.bytes_to_peers(sizes) } -> std::same_as<std::vector<std::int64_t>>;
};

/// Kinds that send experts' parameters or gradients to other ranks.
template <class Kind>
concept MovesExperts = requires(const Kind& kind, std::int64_t rows, const ExpertSlots& slots) {
  { kind.moves(slots) } -> std::same_as<std::vector<ExpertMove>>;
  { kind.block_rows(rows, slots) } -> std::same_as<std::int64_t>;
  { kind.share } -> std::convertible_to<Slice>;
};

template <class Kind>
concept HasFacts = requires {
  { Kind::facts } -> std::convertible_to<OpFacts>;
};
template <class Kind>
concept HasWork = requires(const Kind& kind, const OpSizes& sizes) {
  { kind.work(sizes) } -> std::same_as<Work>;
};
template <class Kind>
concept Accumulates = requires(Kind kind) {
  kind.accumulate = true;
};

/// Every alternative of OpKind must state these facts (op_facts.h). The compiler names a kind
/// without them as `Kind`.
template <class Kind>
constexpr bool describes_itself() {
  static_assert(HasFacts<Kind>, "this op kind lacks `static constexpr OpFacts facts`");
  static_assert(HasWork<Kind>, "this op kind lacks `Work work(const OpSizes&) const`");
  if constexpr (HasFacts<Kind>) {
    constexpr bool communicates = Kind::facts.activity == Activity::communication;
    static_assert(Communicates<Kind> || !communicates,
                  "this op kind communicates, and lacks `GroupKind group` or `bytes_to_peers`");
    static_assert(communicates || !Communicates<Kind>,
                  "this op kind has a group, and its facts say that it does not communicate");
    static_assert(Accumulates<Kind> || !Kind::facts.writes.contain(Cut::sum),
                  "this op kind writes a sum (Cut::sum), and lacks `bool accumulate`");
    static_assert(!Accumulates<Kind> || Kind::facts.writes.contain(Cut::sum),
                  "this op kind has `accumulate`, and writes no sum (Cut::sum)");
  }
  return true;
}

template <class Variant>
inline constexpr bool all_describe_themselves = false;
template <class... Kinds>
inline constexpr bool all_describe_themselves<std::variant<Kinds...>> =
    (describes_itself<Kinds>() && ...);
static_assert(all_describe_themselves<AnyOpKind>);

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
/// The kind of group that an op communicates in; none where it does not communicate.
std::optional<GroupKind> group_of(const Op& op);
bool is_communication(const Op& op);
/// True for an AllToAll, and for a leg or a step of one.
bool is_all_to_all(const Op& op);
/// The direction of an AllToAll, or of a leg or a step of one: to the experts or back. None for
/// other ops.
std::optional<Direction> direction_of(const Op& op);
/// True for an op that exchanges routed rows (row_layout.h), by all_to_all_v of a Communicator.
bool exchanges_rows(const Op& op);
/// True for the SendExperts of a layer in which several ranks share out the rows of an expert
/// (RowsOfOthers::balanced).
bool balances_rows(const Op& op);
/// The placement by which the op moves or adds up replicas; nullptr for other ops.
const ExpertPlacement* placed_by(const Op& op);
/// True for an op that moves or adds up replicas that are chosen after the gate: like an op on
/// routed rows it waits for the exchange of counts.
bool depends_on_counts(const Op& op);
/// True for the exchange of counts, after which every rank knows how many routed rows of Op::layer
/// it has. A layer whose rows are padded has none: its ranks know.
bool binds_routing(const Op& op);
/// The op in which ranks tell each other how many copies of tokens every expert of Op::layer gets,
/// ExchangeCounts or GatherLoads; nullptr for other ops.
const ExchangeCounts* counts_of(const Op& op);
ExchangeCounts* counts_of(Op& op);
/// True for an op that sends parameters or gradients of experts between ranks (expert_moves.h), by
/// all_to_all_v of a Communicator between tensors of fixed rows.
bool moves_experts(const Op& op);
/// True for an op that sums gradients over the ranks that hold copies of a parameter: on all of
/// them, or on each rank its share.
bool reduces_gradients(const Op& op);
/// True for the ops that send gradients of expert replicas to the experts' homes and add them
/// there.
bool brings_gradients_home(const Op& op);
/// True for an op that runs once in an iteration, after all micro-batches: it brings gradients of
/// replicas home, unless layers share their slots (SlotsOf), reduces gradients or updates
/// parameters.
bool comes_once(const Op& op);
/// True for an op that the ranks of this pipeline stage take part in.
bool runs_in(const Op& op, int stage);
/// The layer, micro-batch and part whose routing the op binds or uses.
RoutedLayer routed_layer(const Op& op);
/// The share of its layer's work that an op does: of p parts with c chunks each, chunk j of part i
/// is share i * c + j of p * c.
Slice share_of(const Op& op);

/// True where some kind of op has this name.
bool is_kind_name(std::string_view name);

/// The same op for a later share of its rows: it adds to the operands that are sums (Cut::sum), and
/// so also reads them.
Op accumulating(Op op);

std::string_view stream_name(Stream stream);
std::string_view phase_name(Phase phase);

}  // namespace moe
