// Cases of orders by einsum, of gates that look at whole groups, of hooks and of compressed
// exchanges.
#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test {
namespace {

using Cases = std::vector<GradientCase>;

void add_einsum(Cases& cases) {
  struct Shape {
    const char* name;
    int experts, groups, slots, tokens, width;  ///< tokens of a group
    std::vector<std::vector<RowRange>> chunks;
  };
  const std::vector<Shape> shapes{
      {"einsum one row", 1, 1, 1, 1, 3, {{{0, 1}}}},
      {"einsum of two groups", 3, 2, 2, 5, 4, {{{0, 12}}}},
      // Slices of three experts with 4 rows each: the cut goes through the middle of a block.
      {"einsum of two groups in chunks",
       3,
       2,
       2,
       7,
       6,
       {{{0, 1}, {4, 1}, {8, 1}}, {{1, 3}, {5, 3}, {9, 3}}}},
      {"einsum of many tokens", 4, 1, 40, 150, 33, {{{0, 160}}}},
      {"einsum without rows", 2, 1, 0, 6, 4, {{}}},
  };
  for (const Shape& shape : shapes) {
    const int rows = shape.experts * shape.groups * shape.slots;
    const int all_tokens = shape.groups * shape.tokens;
    const std::string name = shape.name;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < shape.chunks.size(); ++i) {
      steps.push_back({.chunk = {static_cast<int>(i), static_cast<int>(shape.chunks.size())},
                       .ranges = shape.chunks[i]});
    }
    const HostTensor mask = random_tensor(rows, shape.tokens, 1),
                     x = random_tensor(all_tokens, shape.width, 2),
                     sent = random_tensor(rows, shape.width, 3),
                     dy = random_tensor(all_tokens, shape.width, 4);
    const auto times = [&](const std::string& what, const auto& op, const HostTensor& a,
                           const HostTensor& b, const HostTensor& like) {
      return KernelCase{name + ", " + what, op, {a, b}, {sized_like(like)}};
    };
    const EinsumRows to_rows{shape.groups, shape.slots};
    const EinsumTokens to_tokens{shape.groups, shape.slots};
    const EinsumMask to_mask{shape.groups, shape.slots};
    KernelCase order = times("rows", to_rows, mask, x, sent);
    KernelCase restore_rows = times("tokens, rows gradient", to_rows, mask, dy, sent);
    order.steps = restore_rows.steps = steps;
    const KernelCase restore = times("tokens", to_tokens, mask, sent, x);
    cases.push_back({order, 0, times("rows, mask gradient", to_mask, sent, x, mask), 0, {0}});
    cases.push_back({order, 0, times("rows, gradient", to_tokens, mask, sent, x), 1, {1}});
    cases.push_back({restore, 0, times("tokens, mask gradient", to_mask, sent, dy, mask), 1, {0}});
    cases.push_back({restore, 0, restore_rows, 1, {1}});
  }
}

void add_soft_slots(Cases& cases) {
  for (const auto& [experts, slots, groups, tokens] :
       {std::tuple{1, 1, 1, 1}, {2, 3, 1, 7}, {3, 2, 2, 5}, {4, 40, 1, 150}}) {
    const int rows = experts * groups * slots;
    const std::string name = "soft_slots " + std::to_string(rows) + "x" + std::to_string(tokens);
    const KernelCase forward{name,
                             SoftSlots{experts, slots, groups},
                             {random_tensor(groups * tokens, experts * slots, 1, 2)},
                             {blank(rows, tokens), blank(rows, tokens),
                              blank_integers(1, experts + 1), blank_integers(1, experts)}};
    const auto out = reference(forward);
    const HostTensor zeros{rows, tokens, std::vector<double>(rows * tokens, 0.0)};
    const auto gradient = [&](const HostTensor& d_dispatch, const HostTensor& d_combine,
                              const std::string& of) {
      return KernelCase{name + " gradient of " + of,
                        SoftSlotsGradient{experts, slots, groups},
                        {d_dispatch, d_combine, out[0], out[1]},
                        {sized_like(forward.reads[0])}};
    };
    const HostTensor dy = random_tensor(rows, tokens, 2);
    cases.push_back({forward, 0, gradient(dy, zeros, "dispatch"), 0, {0}});
    cases.push_back({forward, 1, gradient(zeros, dy, "combine"), 1, {0}});
  }
}

void add_softmax_gradient(Cases& cases) {
  for (const auto& [rows, width] : {std::pair{1, 3}, {20, 9}, {4, 1200}}) {
    KernelCase forward = softmax_case(random_tensor(rows, width, 5, 2));
    forward.name += " with gradient";
    cases.push_back({forward,
                     0,
                     {forward.name + ", the gradient",
                      SoftmaxGradient{},
                      {random_tensor(rows, width, 6), reference(forward)[0]},
                      {blank(rows, width)}},
                     0,
                     {0}});
  }
}

void add_jitter(Cases& cases) {
  const Jitter jitter{0.25, {77, 2, 3, 100}};
  const HostTensor step{1, 1, {5}, true};
  cases.push_back({{"jitter", jitter, {random_tensor(9, 7, 1), step}, {blank(9, 7)}},
                   0,
                   {"jitter gradient", jitter, {random_tensor(9, 7, 2), step}, {blank(9, 7)}},
                   0,
                   {0}});
}

}  // namespace

std::vector<GradientCase> order_gradient_cases() {
  Cases cases;
  add_einsum(cases);
  add_soft_slots(cases);
  add_softmax_gradient(cases);
  add_jitter(cases);
  return cases;
}

/// Slices of three experts' rows; rows outside the slices keep their values.
void add_copies(std::vector<KernelCase>& cases) {
  for (const std::int64_t width : {1, 8, 33}) {
    const HostTensor rows = random_tensor(31, width, 7);
    const std::vector<Step> slices{{.ranges = {{0, 5}, {9, 0}, {9, 6}}},
                                   {.ranges = {{15, 7}, {22, 3}, {28, 3}}}};
    cases.push_back(
        {"offload " + std::to_string(width), OffloadRows{}, {rows}, {blank(31, width)}, slices});
    cases.push_back({"fetch " + std::to_string(width),
                     FetchRows{},
                     {rows, random_tensor(2, 2, 8)},
                     {blank(31, width)},
                     slices});
    cases.push_back({"await copies " + std::to_string(width), AwaitCopies{}, {rows}, {}});
  }
}

std::vector<KernelCase> group_and_wire_cases() {
  std::vector<KernelCase> cases;
  for (const auto& [tokens, experts, slots, groups] :
       {std::tuple{1, 1, 1, 1}, {40, 3, 7, 2}, {60, 5, 20, 3}, {300, 9, 60, 1}}) {
    cases.push_back(choose_case({experts, slots, groups}, random_tensor(tokens, experts, 3)));
  }
  for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
    for (const int width : {1, 6, 67}) {
      const std::string name =
          std::string(wire_format_name(format)) + " rows of " + std::to_string(width);
      const std::vector<Step> slices{{.ranges = {{0, 7}, {20, 11}}}, {.ranges = {{7, 13}}}};
      const KernelCase pack{"pack " + name,
                            PackRows{format},
                            {random_tensor(31, width, 1, 3)},
                            {blank_integers(31, packed_columns(format, width))},
                            slices};
      cases.push_back(pack);
      cases.push_back(
          {"unpack " + name, UnpackRows{format}, {reference(pack)[0]}, {blank(31, width)}, slices});
    }
  }
  cases.push_back({"round_bf16",
                   RoundBf16{},
                   {random_tensor(31, 9, 1)},
                   {blank(31, 9)},
                   {{.chunk = {0, 2}, .ranges = {{0, 7}, {20, 3}}},
                    {.chunk = {1, 2}, .ranges = {{7, 13}, {23, 8}}}}});
  add_copies(cases);
  return cases;
}

KernelCase choose_case(const ChooseTokens& choose, HostTensor scores) {
  const std::int64_t tokens = scores.rows;
  return {"choose_tokens " + std::to_string(tokens) + "x" + std::to_string(choose.experts) + " " +
              std::to_string(choose.slots) + " in " + std::to_string(choose.groups) + " groups",
          choose,
          {std::move(scores)},
          {blank_integers(tokens, choose.experts), blank(tokens, choose.experts),
           blank_integers(tokens, choose.experts), blank_integers(1, choose.experts + 1),
           blank_integers(1, choose.experts)}};
}

}  // namespace moe::test
