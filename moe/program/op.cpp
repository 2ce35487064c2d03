#include "moe/program/op.h"

#include <algorithm>
#include <array>

namespace moe {
namespace {

// In the order of OpKind's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<OpKind>> kKindNames{
    "embed_tokens",
    "embed_tokens_gradient",
    "layer_norm",
    "layer_norm_input_gradient",
    "layer_norm_weight_gradient",
    "linear",
    "linear_input_gradient",
    "linear_weight_gradient",
    "attention",
    "attention_gradient",
    "add",
    "gelu",
    "gelu_gradient",
    "gate",
    "gate_gradient",
    "load_balancing_loss",
    "exchange_counts",
    "permute",
    "permute_gradient",
    "all_to_all",
    "expert_linear",
    "expert_linear_input_gradient",
    "expert_linear_weight_gradient",
    "combine",
    "combine_input_gradient",
    "combine_weight_gradient",
    "cross_entropy",
    "cross_entropy_gradient",
    "all_reduce",
    "adam_step",
    "sgd_step",
};
constexpr std::array<std::string_view, kStreamCount> kStreamNames{"compute", "inter_node",
                                                                  "intra_node", "copy", "host"};
constexpr std::array<std::string_view, 3> kPhaseNames{"forward", "backward", "update"};
constexpr std::array<std::string_view, 3> kGroupNames{"world", "expert", "expert_data"};

template <class Enum, class Names>
std::optional<Enum> find_name(const Names& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

}  // namespace

std::string_view kind_name(const Op& op) { return kKindNames[op.kind.index()]; }
std::string_view stream_name(Stream stream) {
  return kStreamNames[static_cast<std::size_t>(stream)];
}
std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }
std::string_view group_name(GroupKind group) {
  return kGroupNames[static_cast<std::size_t>(group)];
}

std::optional<Stream> stream_from_name(std::string_view name) {
  return find_name<Stream>(kStreamNames, name);
}
std::optional<Phase> phase_from_name(std::string_view name) {
  return find_name<Phase>(kPhaseNames, name);
}

bool is_kind_name(std::string_view name) {
  return std::find(kKindNames.begin(), kKindNames.end(), name) != kKindNames.end();
}

bool is_communication(const Op& op) {
  return std::holds_alternative<AllToAll>(op.kind) || std::holds_alternative<AllReduce>(op.kind) ||
         std::holds_alternative<ExchangeCounts>(op.kind);
}

}  // namespace moe
