#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "moe/program/tensor.h"

/// The closed set of operations. Shapes: T tokens of this rank, L tokens per sequence, V
/// vocabulary, M model width, H hidden width, E experts, k choices per token, S sent rows, R
/// received rows, D local experts. Each alternative says what its op reads -> writes, by position
/// in Op::reads and Op::writes.
namespace moe {

enum class Stream : std::uint8_t { compute, inter_node, intra_node, copy, host };
inline constexpr int kStreamCount = 5;

enum class Phase : std::uint8_t { forward, backward, update };

/// Who takes part in a communication; see groups.h.
enum class GroupKind : std::uint8_t { world, expert, expert_data };

// --- dense layers -------------------------------------------------------------------------------

/// tokens i32[T], token_table[V,M], position_table[L,M] -> x[T,M]
struct EmbedTokens {
  std::int64_t sequence_length = 0;
};
/// tokens i32[T], dx[T,M] -> d_token_table[V,M], d_position_table[L,M]
struct EmbedTokensGradient {
  std::int64_t sequence_length = 0;
};
/// x[T,M], scale[M], shift[M] -> y[T,M], statistics[T,2] (mean, reciprocal standard deviation)
struct LayerNorm {};
/// dy[T,M], x[T,M], scale[M], statistics[T,2] -> dx[T,M]
struct LayerNormInputGradient {};
/// dy[T,M], x[T,M], statistics[T,2] -> d_scale[M], d_shift[M]
struct LayerNormWeightGradient {};
/// x[T,I], weight[I,O], (bias[O]) -> y[T,O]
struct Linear {};
/// dy[T,O], weight[I,O] -> dx[T,I]
struct LinearInputGradient {};
/// x[T,I], dy[T,O] -> d_weight[I,O], (d_bias[O])
struct LinearWeightGradient {};
/// qkv[T,3M] -> y[T,M], probabilities[T*heads, L] (row = (sequence * heads + head) * L + query)
/// Causal multi-head attention; q, k, v are columns [0,M), [M,2M), [2M,3M), heads side by side in
/// each.
struct Attention {
  int heads = 1;
  std::int64_t sequence_length = 0;
};
/// dy[T,M], qkv[T,3M], probabilities[T*heads, L] -> d_qkv[T,3M], scratch[heads*L, L]
struct AttentionGradient {
  int heads = 1;
  std::int64_t sequence_length = 0;
};
/// a[n,c], b[n,c] -> y[n,c]
struct Add {};
/// x[n,c] -> y[n,c], tanh form; n may be received rows of one slice
struct Gelu {};
/// dy[n,c], x[n,c] -> dx[n,c]; n may be received rows of one slice
struct GeluGradient {};

// --- mixture of experts -------------------------------------------------------------------------

/// logits[T,E] -> probabilities[T,E], expert i32[T,k], weight[T,k], slot i32[T,k], offsets
/// i32[1,E+1],
///                demand i32[1,E]
/// Softmax over experts, the k largest chosen (ties: lower expert first). weight = probability for
/// k = 1, normalised over the chosen for k = 2. Tokens form `capacity_groups` equal groups; in each
/// group an expert takes at most `capacity` copies, all first choices before all second choices,
/// tokens in order. slot = position among the copies kept for that expert on this rank, in token
/// order; -1 when dropped. offsets = exclusive prefix sum of kept copies per expert; demand =
/// copies asked for before dropping.
struct Gate {
  int experts = 0;
  int choices = 1;
  int capacity_groups = 1;                 ///< of this rank's tokens
  std::optional<std::int64_t> capacity{};  ///< copies per expert and group; none = dropless
};
/// d_weight[T,k], probabilities[T,E], expert i32[T,k], weight[T,k], total_demand i32[1,E] ->
/// d_logits[T,E] Adds the gradient of the load-balancing loss.
struct GateGradient {
  int experts = 0;
  int choices = 1;
  double auxiliary_weight = 0;  ///< factor of the load-balancing loss in the total loss
  std::int64_t global_tokens = 0;
};
/// probabilities[T,E], total_demand i32[1,E] -> loss[1,1]: this rank's share of
/// E * sum_e f_e P_e with f_e = share of all copies that asked for e, P_e = mean probability, both
/// over all ranks; the sum over ranks is the loss. (Switch/GShard form, f over all k choices.)
struct LoadBalancingLoss {
  int experts = 0;
  int choices = 1;
  std::int64_t global_tokens = 0;
};
/// offsets i32[1,E+1], demand i32[1,E] -> total_demand i32[1,E]. All ranks of the world learn how
/// many rows every rank sends to every expert of Op::layer: this is what binds sent and received
/// rows.
struct ExchangeCounts {
  int experts = 0;
};
/// x[T,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> sent[S,M] (one slice)
struct Permute {
  int choices = 1;
};
/// d_sent[S,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> dx[T,M]
struct PermuteGradient {
  int choices = 1;
};
enum class Direction : std::uint8_t { dispatch, combine };
/// dispatch: sent[S,M] -> received[R,M]; combine: received[R,M] -> sent[S,M] (one slice of each)
struct AllToAll {
  Direction direction = Direction::dispatch;
  GroupKind group = GroupKind::expert;
};
/// x[R,I], weight[D*I,O], bias[D,O] -> y[R,O] (one slice): y = x W_d + b_d for the rows of local
/// expert d
struct ExpertLinear {
  int local_experts = 1;
};
/// dy[R,O], weight[D*I,O] -> dx[R,I] (one slice)
struct ExpertLinearInputGradient {
  int local_experts = 1;
};
/// x[R,I], dy[R,O] -> d_weight[D*I,O], d_bias[D,O] (one slice of the rows; adds up where
/// `accumulate`)
struct ExpertLinearWeightGradient {
  int local_experts = 1;
  bool accumulate = false;
};
/// returned[S,M], expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1] -> y[T,M]
struct Combine {
  int choices = 1;
};
/// dy[T,M], expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1] -> d_returned[S,M] (one
/// slice)
struct CombineInputGradient {
  int choices = 1;
};
/// dy[T,M], returned[S,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> d_weight[T,k]
struct CombineWeightGradient {
  int choices = 1;
};

// --- loss, gradients, update --------------------------------------------------------------------

/// logits[T,V], targets i32[T] -> loss[1,1] (this rank's share of the global mean), log_sum_exp[T]
struct CrossEntropy {
  std::int64_t global_tokens = 0;
};
/// logits[T,V], targets i32[T], log_sum_exp[T] -> d_logits[T,V], scaled by 1 / global_tokens
struct CrossEntropyGradient {
  std::int64_t global_tokens = 0;
};
/// gradients -> the same gradients, summed over the group in place
struct AllReduce {
  GroupKind group = GroupKind::world;
};
/// gradient[n], step i32[1,1] (1 in the first iteration) -> parameter[n], first_moment[n],
/// second_moment[n]; moments corrected for their start at zero, no weight decay
struct AdamStep {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
/// gradient[n] -> parameter[n], momentum[n]: momentum = factor * momentum + gradient,
/// parameter -= learning_rate * momentum
struct SgdStep {
  double learning_rate = 1e-2, momentum = 0.9;
};

using OpKind =
    std::variant<EmbedTokens, EmbedTokensGradient, LayerNorm, LayerNormInputGradient,
                 LayerNormWeightGradient, Linear, LinearInputGradient, LinearWeightGradient,
                 Attention, AttentionGradient, Add, Gelu, GeluGradient, Gate, GateGradient,
                 LoadBalancingLoss, ExchangeCounts, Permute, PermuteGradient, AllToAll,
                 ExpertLinear, ExpertLinearInputGradient, ExpertLinearWeightGradient, Combine,
                 CombineInputGradient, CombineWeightGradient, CrossEntropy, CrossEntropyGradient,
                 AllReduce, AdamStep, SgdStep>;

struct Op {
  OpKind kind;
  std::vector<Use> reads;
  std::vector<Use> writes;
  std::string name;  ///< what a person reads in a timeline: "attention qkv", "all_to_all dispatch"
  int layer = -1;    ///< block of the model, -1 outside the blocks
  Phase phase = Phase::forward;
  Slice chunk{};  ///< which share of the layer's rows; {0, 1} = all
  Stream stream = Stream::compute;
};

/// Snake-case name of the alternative: "expert_linear_input_gradient".
std::string_view kind_name(const Op& op);
std::string_view stream_name(Stream stream);
std::string_view phase_name(Phase phase);
std::string_view group_name(GroupKind group);
std::optional<Stream> stream_from_name(std::string_view name);
std::optional<Phase> phase_from_name(std::string_view name);

/// True when some alternative has this kind_name.
bool is_kind_name(std::string_view name);

/// True for AllToAll, AllReduce and ExchangeCounts: the ops that a Communicator executes.
bool is_communication(const Op& op);

}  // namespace moe
