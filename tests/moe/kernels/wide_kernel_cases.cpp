// Rows of several packs for a thread of a device, whole and not, of aligned addresses and not, and sums
// over more rows than a block takes.
#include <string>
#include <tuple>
#include <utility>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

using WideCases = std::vector<KernelCase>;

std::string wide_size(std::int64_t rows, std::int64_t width) {
  return ", " + std::to_string(rows) + "x" + std::to_string(width);
}

void add_wide_norms(WideCases& cases) {
  // A warp's packs, those of a block, more than a thread holds, many rows.
  for (const auto& [rows, width] :
       {std::pair{3, 1016}, {2, 1304}, {2, 8808}, {1030, 24}, {1030, 37}}) {
    const HostTensor x = random_tensor(rows, width, 1, 3), scale = random_tensor(1, width, 2),
                     shift = random_tensor(1, width, 3), dy = random_tensor(rows, width, 4);
    const std::string size = wide_size(rows, width);
    for (const bool shifts : {true, false}) {
      KernelCase norm{(shifts ? "layer_norm" : "rms_norm") + size,
                      LayerNorm{},
                      {x, scale},
                      {blank(rows, width), blank(rows, shifts ? 2 : 1)}};
      KernelCase input{norm.name + " input gradient",
                       LayerNormInputGradient{},
                       {dy, x, scale},
                       {blank(rows, width)}};
      KernelCase weight{norm.name + " weight gradient",
                        LayerNormWeightGradient{},
                        {dy, x},
                        {random_tensor(1, width, 5)},
                        {{.accumulate = true}}};
      if (shifts) {
        norm.reads.push_back(shift);
        weight.writes.push_back(random_tensor(1, width, 6));
      } else {
        norm.kind = RmsNorm{};
        input.kind = RmsNormInputGradient{};
        weight.kind = RmsNormWeightGradient{};
      }
      const HostTensor statistics = reference(norm)[1];
      input.reads.push_back(statistics);
      weight.reads.push_back(statistics);
      for (KernelCase* kernel : {&norm, &input, &weight}) cases.push_back(std::move(*kernel));
    }
  }
}

/// Experts whose rows take no, one and several shares of a sum; also the sum of all rows.
void add_wide_bias_gradients(WideCases& cases) {
  const std::int64_t rows = 1800, inputs = 2;
  for (const std::int64_t width : {72, 21}) {
    const HostTensor x = random_tensor(rows, inputs, 1), dy = random_tensor(rows, width, 2);
    const std::vector<RowRange> ranges{{0, 513}, {513, 0}, {513, 512}, {1027, 7}, {1034, 766}};
    const auto experts = static_cast<int>(ranges.size());
    cases.push_back({"expert_linear weight gradient" + wide_size(rows, width),
                     ExpertLinearWeightGradient{experts},
                     {x, dy},
                     {blank(experts * inputs, width), blank(experts, width)},
                     {{.ranges = ranges}}});
    cases.push_back({"linear weight gradient" + wide_size(rows, width),
                     LinearWeightGradient{},
                     {x, dy},
                     {blank(inputs, width), blank(1, width)}});
  }
}

void add_wide_token_tables(WideCases& cases) {
  // Few words, many, and columns of several tiles; some tokens have no row in the table.
  for (const auto& [tokens, ids, width] :
       {std::tuple{600, 7, 24}, {600, 7, 37}, {90, 3000, 16}, {40, 1500, 5}, {12, 3, 4104}}) {
    const EmbeddedTokens of{tokens, 0, 1};
    const HostTensor words = random_integers(tokens, 1, 3, ids + 2),
                     table = random_tensor(ids, width, 1), dx = random_tensor(tokens, width, 2);
    const std::string size = " of " + std::to_string(ids) + wide_size(tokens, width);
    cases.push_back(
        {"embed_tokens" + size, EmbedTokens{of}, {words, table}, {blank(tokens, width)}});
    cases.push_back({"embed_tokens gradient" + size,
                     EmbedTokensGradient{of},
                     {words, dx},
                     {sized_like(table)}});
    cases.push_back({"embed_tokens gradient onto another" + size,
                     EmbedTokensGradient{of},
                     {words, dx, table},
                     {table}});
  }
}

void add_wide_copies(WideCases& cases) {
  const int tokens = 7, experts = 6;
  for (const auto& [choices, width] : {std::pair{2, 1304}, {5, 40}, {5, 37}}) {
    const Gated gated =
        softmax_gated({experts, choices, true, 1, 4}, random_tensor(tokens, experts, 7, 2));
    const auto rows = static_cast<std::int64_t>(gated.offsets.values.back());
    const HostTensor sent = random_tensor(rows, width, 3), dy = random_tensor(tokens, width, 4);
    const std::string size = " of " + std::to_string(choices) + wide_size(tokens, width);
    cases.push_back({"combine" + size,
                     Combine{choices},
                     {sent, gated.expert, gated.weight, gated.slot, gated.offsets},
                     {sized_like(dy)}});
    cases.push_back({"permute_gradient" + size,
                     PermuteGradient{choices},
                     {sent, gated.expert, gated.slot, gated.offsets},
                     {sized_like(dy)}});
    cases.push_back({"combine_weight_gradient" + size,
                     CombineWeightGradient{choices},
                     {dy, sent, gated.expert, gated.slot, gated.offsets},
                     {sized_like(gated.weight)}});
  }
}

void add_wide_rotations(WideCases& cases) {
  const int length = 5, sequences = 2, heads = 3;
  for (const int head_width : {32, 24, 20}) {
    const HostTensor qkv = random_tensor(length * sequences, 5 * head_width, 1);
    cases.push_back({"rotary" + wide_size(heads, head_width),
                     Rotary{heads, length, 1, 100},
                     {qkv},
                     {sized_like(qkv)}});
  }
}

/// Ranges that adjoin and ranges that do not, which begin within packs.
void add_wide_activations(WideCases& cases) {
  const std::vector<Step> steps{{.ranges = {{1, 40}, {41, 0}, {41, 9}, {55, 5}, {70, 30}}}};
  for (const std::int64_t width : {24, 37}) {
    const HostTensor a = random_tensor(100, width, 1, 4), b = random_tensor(100, width, 2),
                     dy = random_tensor(100, width, 3);
    const std::string size = wide_size(100, width);
    cases.push_back({"gelu" + size, Gelu{}, {a}, {sized_like(a)}, steps});
    cases.push_back({"gelu gradient" + size, GeluGradient{}, {dy, a}, {sized_like(a)}, steps});
    cases.push_back({"gated_silu" + size, GatedSilu{}, {a, b}, {sized_like(a)}, steps});
    cases.push_back({"gated_silu gradient" + size,
                     GatedSiluGradient{},
                     {dy, a, b},
                     {sized_like(a), sized_like(b)},
                     steps});
  }
}

}  // namespace

std::vector<KernelCase> wide_kernel_cases() {
  WideCases cases;
  add_wide_norms(cases);
  add_wide_bias_gradients(cases);
  add_wide_token_tables(cases);
  add_wide_copies(cases);
  add_wide_rotations(cases);
  add_wide_activations(cases);
  return cases;
}

}  // namespace moe::test
