// Cases of heads: norms, rotary positions and attention; and of rows times a factor.
#include <tuple>
#include <utility>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

using Cases = std::vector<GradientCase>;

void add_query_key_norm(Cases& cases) {
  for (const auto& [tokens, groups, values] : {std::tuple{1, QueryKeyGroups{4, 4, 1, 1}, 4},
                                               {5, {24, 8, 3, 1}, 8},
                                               {7, {64, 32, 1, 1}, 32},
                                               {5, {24, 16, 3, 2}, 10},
                                               {4, {1500, 600, 5, 2}, 600}}) {
    const std::int64_t columns = groups.query_columns + groups.key_columns + values;
    KernelCase forward{
        "query_key_norm " + std::to_string(tokens) + "x" + std::to_string(columns),
        QueryKeyNorm{groups},
        {random_tensor(tokens, columns, 1, 3),
         random_tensor(1, groups.query_columns / groups.query_groups, 2),
         random_tensor(1, groups.key_columns / groups.key_groups, 3)},
        {blank(tokens, columns), blank(tokens, groups.query_groups + groups.key_groups)}};
    const auto out = reference(forward);
    const HostTensor dy = random_tensor(tokens, columns, 4);
    KernelCase input{forward.name + " input gradient",
                     QueryKeyNormInputGradient{groups},
                     {dy, forward.reads[0], forward.reads[1], forward.reads[2], out[1]},
                     {blank(tokens, columns)}};
    KernelCase weight{forward.name + " weight gradient",
                      QueryKeyNormWeightGradient{groups},
                      {dy, forward.reads[0], out[1]},
                      {forward.reads[1], forward.reads[2]}};
    for (HostTensor& sums : weight.writes) sums = blank(sums.rows, sums.columns);
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 0, {1, 2}});
  }
}

void add_rotary(Cases& cases) {
  const RotaryAngles plain{.base = 100};
  const char* const scaled_names[] = {"", " linear", " llama3", " yarn"};
  const auto scaled = [](AngleScaling scaling) {
    return RotaryAngles{.base = 100,
                        .columns = 8,
                        .scaling = scaling,
                        .factor = 4,
                        .trained_length = 40,
                        .slow_turns = 0.5,
                        .fast_turns = 3,
                        .magnitude = scaling == AngleScaling::yarn ? 1.25 : 1};
  };
  for (const auto& [sequences, length, heads, key_value_heads, head_width, value_width, angles] :
       {std::tuple{1, 1, 1, 1, 2, 0, plain},
        {2, 7, 3, 3, 4, 0, plain},
        {3, 5, 4, 2, 6, 0, plain},
        {1, 70, 8, 1, 2, 0, plain},
        {9, 4, 2, 1, 4, 0, plain},
        {3, 5, 4, 2, 6, 0, RotaryAngles{.base = 100, .columns = 2}},
        {3, 5, 4, 2, 6, 3, RotaryAngles{.base = 100, .columns = 2}},
        {2, 9, 2, 2, 16, 8, RotaryAngles{.base = 100, .columns = 16}},
        {2, 9, 2, 1, 8, 0, scaled(AngleScaling::linear)},
        {2, 9, 2, 1, 8, 0, scaled(AngleScaling::llama3)},
        {2, 9, 2, 1, 12, 0, scaled(AngleScaling::yarn)}}) {
    const int tokens = sequences * length,
              columns = (heads + key_value_heads) * head_width +
                        key_value_heads * (value_width > 0 ? value_width : head_width);
    const std::string turned = angles.columns > 0 ? ", " + std::to_string(angles.columns) : "";
    KernelCase forward{"rotary " + std::to_string(tokens) + "x" + std::to_string(columns) + turned +
                           (scaled_names[static_cast<std::size_t>(angles.scaling)]),
                       Rotary{heads, length, key_value_heads, angles, value_width},
                       {random_tensor(tokens, columns, 1)},
                       {blank(tokens, columns)}};
    KernelCase gradient{forward.name + " gradient",
                        RotaryGradient{heads, length, key_value_heads, angles, value_width},
                        {random_tensor(tokens, columns, 2)},
                        {blank(tokens, columns)}};
    cases.push_back({forward, 0, gradient, 0, {0}});
  }
}

void add_attention(Cases& cases) {
  for (const auto& [sequences, length, heads, key_value_heads, head_width] :
       {std::tuple{1, 1, 1, 1, 2},
        {2, 7, 3, 3, 4},
        {1, 130, 2, 2, 8},
        {1, 300, 1, 1, 3},
        {2, 5, 4, 2, 3},
        {1, 70, 6, 2, 4},
        {1, 130, 3, 1, 2},
        {2, 130, 4, 2, 8}}) {
    const int tokens = sequences * length, width = heads * head_width;
    const int columns = width + 2 * key_value_heads * head_width;
    KernelCase forward =
        attention_case({heads, length, key_value_heads}, random_tensor(tokens, columns, 1, 2));
    forward.name = "attention " + std::to_string(sequences) + "x" + std::to_string(length) + "x" +
                   std::to_string(heads) + " over " + std::to_string(key_value_heads);
    KernelCase gradient =
        attention_gradient_case(forward, random_tensor(tokens, width, 2), reference(forward));
    cases.push_back({forward, 0, gradient, 0, {0, -1}});
  }
}

/// Values of another width than keys; latent attention's are narrower.
void add_attention_of_values(Cases& cases) {
  for (const auto& [sequences, length, heads, key_value_heads, head_width, value_width, window] :
       {std::tuple{1, 1, 1, 1, 2, 5, 0},
        {2, 7, 3, 3, 6, 4, 0},
        {1, 130, 4, 2, 3, 8, 0},
        {1, 300, 2, 2, 24, 16, 0},
        {1, 130, 2, 1, 6, 1, 90}}) {
    const int tokens = sequences * length, width = heads * value_width;
    const int columns = heads * head_width + key_value_heads * (head_width + value_width);
    const double scale = value_width > 4 ? 0.3 : 0;
    KernelCase forward =
        attention_case({heads, length, key_value_heads, window, scale, value_width},
                       random_tensor(tokens, columns, 1, 2));
    forward.name = "attention " + std::to_string(length) + ", heads of " +
                   std::to_string(head_width) + ", of values " + std::to_string(value_width);
    KernelCase gradient =
        attention_gradient_case(forward, random_tensor(tokens, width, 2), reference(forward));
    cases.push_back({forward, 0, gradient, 0, {0, -1}});
  }
}

void add_join_heads(Cases& cases) {
  for (const auto& [tokens, heads, key_value_heads, width, shared, values] :
       {std::tuple{1, 1, 1, 2, 2, 1},
        {5, 3, 3, 6, 2, 4},
        {7, 4, 2, 5, 4, 9},
        {3, 40, 40, 24, 8, 16}}) {
    const int of_kv = key_value_heads * (width - shared + values);
    const KernelCase forward{"join_heads " + std::to_string(tokens) + "x" + std::to_string(heads) +
                                 " over " + std::to_string(key_value_heads) + ", " +
                                 std::to_string(width) + " of them " + std::to_string(shared),
                             JoinHeads{heads, key_value_heads},
                             {random_tensor(tokens, heads * width, 1),
                              random_tensor(tokens, of_kv, 2), random_tensor(tokens, shared, 3)},
                             {blank(tokens, heads * width + key_value_heads * (width + values))}};
    const KernelCase gradient{
        forward.name + " gradient",
        JoinHeadsGradient{heads, key_value_heads},
        {random_tensor(tokens, forward.writes[0].columns, 4)},
        {blank(tokens, heads * width), blank(tokens, of_kv), blank(tokens, shared)}};
    cases.push_back({forward, 0, gradient, 0, {0, 1, 2}});
  }
}

/// Windows of less than a tile of queries, of some of them, and of all; with sinks.
void add_windowed_attention(Cases& cases) {
  for (const auto& [length, window, scale] :
       {std::tuple{7, 3, 0.0}, {130, 1, 0.5}, {700, 90, 0.0}, {130, 200, 0.0}, {70, 0, 0.25}}) {
    const int heads = 2, key_value_heads = 1, head_width = 3, sequences = 2;
    const int tokens = sequences * length, width = heads * head_width;
    const Attention op{heads, length, key_value_heads, window, scale};
    KernelCase forward =
        attention_case(op, random_tensor(tokens, width + 2 * key_value_heads * head_width, 1, 2));
    forward.name =
        "attention " + std::to_string(length) + " in windows of " + std::to_string(window);
    forward.reads.push_back(random_tensor(1, heads, 5));
    const auto out = reference(forward);
    const HostTensor dy = random_tensor(tokens, width, 2);
    KernelCase gradient = attention_gradient_case(forward, dy, out);
    KernelCase sinks{forward.name + ", sinks",
                     AttentionSinkGradient{length},
                     {dy, out[0], out[1], forward.reads[1]},
                     {blank(1, heads), blank(tokens, heads)}};
    cases.push_back({forward, 0, gradient, 0, {0, -1}});
    // Terms of both signs: of more tokens their sum would keep fewer digits than the table expects.
    if (length < 200) cases.push_back({forward, 0, sinks, 0, {1, -1}});
  }
}

void add_scale_rows(Cases& cases) {
  for (const auto& [rows, width] : {std::pair{1, 4}, {5, 16}, {37, 65}, {3, 1500}}) {
    KernelCase forward{"scale_rows " + std::to_string(rows) + "x" + std::to_string(width),
                       ScaleRows{},
                       {random_tensor(rows, width, 1), random_tensor(rows, 1, 2)},
                       {blank(rows, width)}};
    KernelCase gradient{forward.name + " gradient",
                        ScaleRowsGradient{},
                        {random_tensor(rows, width, 3), forward.reads[0], forward.reads[1]},
                        {blank(rows, width), blank(rows, 1)}};
    cases.push_back({forward, 0, gradient, 0, {0, 1}});
  }
}

}  // namespace

std::vector<GradientCase> head_gradient_cases() {
  Cases cases;
  add_query_key_norm(cases);
  add_rotary(cases);
  add_attention(cases);
  add_attention_of_values(cases);
  add_join_heads(cases);
  add_windowed_attention(cases);
  add_scale_rows(cases);
  return cases;
}

namespace {

/// As large as bf16 on a device needs it; others use a part.
HostTensor attention_scratch(const Attention& attention, const HeadWidths& widths, bool gradient) {
  const int key_value_heads = attention.key_value_heads;
  return blank(key_value_heads,
               attention_scratch_columns(
                   {key_value_heads, attention.heads / key_value_heads, widths.keys, widths.values},
                   attention.sequence_length, true, gradient));
}

HeadWidths widths_of(const Attention& attention, const HostTensor& qkv) {
  return head_widths(qkv.columns, attention.heads, attention.key_value_heads, attention.value_width,
                     "a case");
}

}  // namespace

KernelCase attention_case(const Attention& attention, HostTensor qkv) {
  const HeadWidths widths = widths_of(attention, qkv);
  KernelCase kernel{"attention",
                    attention,
                    {std::move(qkv)},
                    {blank(0, 0), blank(0, 0), attention_scratch(attention, widths, false)}};
  kernel.writes[0] = blank(kernel.reads[0].rows, attention.heads * widths.values);
  kernel.writes[1] = blank(kernel.reads[0].rows, attention.heads);
  return kernel;
}

KernelCase attention_gradient_case(const KernelCase& forward, HostTensor dy,
                                   const std::vector<HostTensor>& results) {
  const auto& attention = std::get<Attention>(forward.kind);
  const HostTensor& qkv = forward.reads[0];
  return {forward.name + " gradient",
          AttentionGradient{attention.heads, attention.sequence_length, attention.key_value_heads,
                            attention.window, attention.scale, attention.value_width},
          {std::move(dy), qkv, results[0], results[1]},
          {sized_like(qkv), attention_scratch(attention, widths_of(attention, qkv), true)}};
}

}  // namespace moe::test
