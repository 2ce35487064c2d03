// Cases of what is done with heads before attention, and of rows times a factor.
#include <tuple>
#include <utility>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

using Cases = std::vector<GradientCase>;

void add_query_key_norm(Cases& cases) {
  for (const auto& [tokens, groups] : {std::pair{1, QueryKeyGroups{4, 4, 1, 1}},
                                       {5, {24, 8, 3, 1}},
                                       {7, {64, 32, 1, 1}},
                                       {4, {1500, 600, 5, 2}}}) {
    const std::int64_t columns = groups.query_columns + 2 * groups.key_columns;
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
  for (const auto& [sequences, length, heads, key_value_heads, head_width, angles] :
       {std::tuple{1, 1, 1, 1, 2, plain},
        {2, 7, 3, 3, 4, plain},
        {3, 5, 4, 2, 6, plain},
        {1, 70, 8, 1, 2, plain},
        {9, 4, 2, 1, 4, plain},
        {3, 5, 4, 2, 6, RotaryAngles{.base = 100, .columns = 2}},
        {2, 9, 2, 1, 8, scaled(AngleScaling::linear)},
        {2, 9, 2, 1, 8, scaled(AngleScaling::llama3)},
        {2, 9, 2, 1, 12, scaled(AngleScaling::yarn)}}) {
    const int tokens = sequences * length, columns = (heads + 2 * key_value_heads) * head_width;
    const std::string turned = angles.columns > 0 ? ", " + std::to_string(angles.columns) : "";
    KernelCase forward{"rotary " + std::to_string(tokens) + "x" + std::to_string(columns) + turned +
                           (scaled_names[static_cast<std::size_t>(angles.scaling)]),
                       Rotary{heads, length, key_value_heads, angles},
                       {random_tensor(tokens, columns, 1)},
                       {blank(tokens, columns)}};
    KernelCase gradient{forward.name + " gradient",
                        RotaryGradient{heads, length, key_value_heads, angles},
                        {random_tensor(tokens, columns, 2)},
                        {blank(tokens, columns)}};
    cases.push_back({forward, 0, gradient, 0, {0}});
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
  add_scale_rows(cases);
  return cases;
}

}  // namespace moe::test
