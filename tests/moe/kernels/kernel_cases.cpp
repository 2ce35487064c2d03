#include "tests/moe/kernels/kernel_cases.h"

#include <algorithm>

namespace moe::test {
namespace {

using Cases = std::vector<GradientCase>;

void add_embed(Cases& cases) {
  for (const auto& [sequences, length, width] : {std::tuple{1, 1, 3}, {3, 5, 8}, {2, 40, 33}}) {
    const int tokens = sequences * length, vocabulary = 11;
    KernelCase forward{"embed " + std::to_string(tokens) + "x" + std::to_string(width),
                       EmbedTokens{{length}},
                       {random_integers(tokens, 1, 1, vocabulary),
                        random_tensor(vocabulary, width, 2), random_tensor(length, width, 3)},
                       {blank(tokens, width)}};
    KernelCase gradient{forward.name + " gradient",
                        EmbedTokensGradient{{length}},
                        {forward.reads[0], random_tensor(tokens, width, 4)},
                        {blank(vocabulary, width), blank(length, width)}};
    cases.push_back({forward, 0, gradient, 1, {1, 2}});

    // Without learned positions. The gradient is added to that of the token table (here zero).
    forward.name += " without positions";
    forward.reads.pop_back();
    gradient.name = forward.name + " gradient";
    gradient.reads.push_back({vocabulary, width, std::vector<double>(vocabulary * width, 0.0)});
    gradient.writes = {gradient.reads.back()};
    cases.push_back({forward, 0, gradient, 1, {1}});
  }
}

void add_layer_norm(Cases& cases) {
  for (const auto& [rows, width] : {std::pair{1, 4}, {5, 16}, {37, 65}, {3, 1500}}) {
    KernelCase forward{
        "layer_norm " + std::to_string(rows) + "x" + std::to_string(width),
        LayerNorm{},
        {random_tensor(rows, width, 1, 3), random_tensor(1, width, 2), random_tensor(1, width, 3)},
        {blank(rows, width), blank(rows, 2)}};
    const auto out = reference(forward);
    const HostTensor dy = random_tensor(rows, width, 4);
    KernelCase input{forward.name + " input gradient",
                     LayerNormInputGradient{},
                     {dy, forward.reads[0], forward.reads[1], out[1]},
                     {blank(rows, width)}};
    KernelCase weight{forward.name + " weight gradient",
                      LayerNormWeightGradient{},
                      {dy, forward.reads[0], out[1]},
                      {blank(1, width), blank(1, width)}};
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 0, {1, 2}});
  }
}

void add_rms_norm(Cases& cases) {
  for (const auto& [rows, width] : {std::pair{1, 4}, {5, 16}, {37, 65}, {3, 1500}}) {
    KernelCase forward{"rms_norm " + std::to_string(rows) + "x" + std::to_string(width),
                       RmsNorm{},
                       {random_tensor(rows, width, 1, 3), random_tensor(1, width, 2)},
                       {blank(rows, width), blank(rows, 1)}};
    const auto out = reference(forward);
    const HostTensor dy = random_tensor(rows, width, 4);
    KernelCase input{forward.name + " input gradient",
                     RmsNormInputGradient{},
                     {dy, forward.reads[0], forward.reads[1], out[1]},
                     {blank(rows, width)}};
    KernelCase weight{forward.name + " weight gradient",
                      RmsNormWeightGradient{},
                      {dy, forward.reads[0], out[1]},
                      {blank(1, width)}};
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 0, {1}});
  }
}

void add_linear(Cases& cases) {
  for (const auto& [rows, inputs, outputs, bias] : {std::tuple{1, 1, 1, true},
                                                    {7, 5, 3, true},
                                                    {33, 17, 40, false},
                                                    {150, 130, 270, true},
                                                    {520, 6, 9, true}}) {
    KernelCase forward{"linear " + std::to_string(rows) + "x" + std::to_string(inputs) + "x" +
                           std::to_string(outputs),
                       Linear{},
                       {random_tensor(rows, inputs, 1), random_tensor(inputs, outputs, 2)},
                       {blank(rows, outputs)}};
    if (bias) forward.reads.push_back(random_tensor(1, outputs, 3));
    const HostTensor dy = random_tensor(rows, outputs, 4);
    KernelCase input{forward.name + " input gradient",
                     LinearInputGradient{},
                     {dy, forward.reads[1]},
                     {blank(rows, inputs)}};
    KernelCase weight{forward.name + " weight gradient",
                      LinearWeightGradient{},
                      {forward.reads[0], dy},
                      {blank(inputs, outputs)}};
    if (bias) weight.writes.push_back(blank(1, outputs));
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 1, bias ? std::vector{1, 2} : std::vector{1}});
  }
}

template <class Forward, class Gradient>
void add_activation(Cases& cases, const std::string& op) {
  // Two ranges with untouched rows around them: the received rows of one slice.
  const std::vector<Step> sliced{{.ranges = {{1, 2}, {4, 0}, {5, 3}}}};
  for (const bool slice : {false, true}) {
    const int rows = slice ? 10 : 50, width = slice ? 7 : 67;
    KernelCase forward{slice ? op + ", slice" : op,
                       Forward{},
                       {random_tensor(rows, width, 1, 4)},
                       {blank(rows, width)}};
    KernelCase gradient{forward.name + " gradient",
                        Gradient{},
                        {random_tensor(rows, width, 2), forward.reads[0]},
                        {blank(rows, width)}};
    if (slice) {
      forward.steps = gradient.steps = sliced;
      // Nothing flows where nothing is computed: L would hold the blanks otherwise.
      gradient.writes[0] = {rows, width, std::vector<double>(rows * width, 0.0)};
    }
    cases.push_back({forward, 0, gradient, 0, {0}});
  }
}

/// Gated networks, whole and of slices.
template <class Gated, class Gradient>
void add_gated(Cases& cases, const std::string& name, double spread) {
  for (const bool slice : {false, true}) {
    const int rows = slice ? 10 : 50, width = slice ? 7 : 67;
    KernelCase forward{
        name + (slice ? ", slice" : ""),
        Gated{},
        {random_tensor(rows, width, 1, spread), random_tensor(rows, width, 2, spread)},
        {blank(rows, width)}};
    KernelCase gradient{forward.name + " gradient",
                        Gradient{},
                        {random_tensor(rows, width, 3), forward.reads[0], forward.reads[1]},
                        {blank(rows, width), blank(rows, width)}};
    if (slice) {
      forward.steps = gradient.steps = {{.ranges = {{1, 2}, {4, 0}, {5, 3}}}};
      // Nothing flows where nothing is computed: L would hold the blanks otherwise.
      for (HostTensor& output : gradient.writes) output.values.assign(rows * width, 0.0);
    }
    cases.push_back({forward, 0, gradient, 0, {0, 1}});
  }
}

/// Two experts of this rank, then three replicas, the last slot empty.
void add_expert_replicas(Cases& cases) {
  const int inputs = 5, outputs = 4, rows = 17;
  const std::vector<RowRange> first{{0, 2}, {4, 1}, {7, 3}, {12, 1}, {17, 0}},
      second{{2, 2}, {5, 2}, {10, 2}, {13, 4}, {17, 0}};
  const std::vector<Step> steps{{.chunk = {0, 2}, .ranges = first},
                                {.chunk = {1, 2}, .accumulate = true, .ranges = second}};
  const HostTensor x = random_tensor(rows, inputs, 1), dy = random_tensor(rows, outputs, 6),
                   weight = random_tensor(2 * inputs, outputs, 2),
                   bias = random_tensor(2, outputs, 3),
                   replica_weight = random_tensor(3 * inputs, outputs, 4),
                   replica_bias = random_tensor(3, outputs, 5);
  KernelCase forward{"expert_linear with replicas",
                     ExpertLinear{2, 1, 3},
                     {x, weight, bias, replica_weight, replica_bias},
                     {blank(rows, outputs)},
                     steps};
  KernelCase input{forward.name + " input gradient",
                   ExpertLinearInputGradient{2, 3},
                   {dy, weight, replica_weight},
                   {sized_like(x)},
                   steps};
  KernelCase own{forward.name + " weight gradient",
                 ExpertLinearWeightGradient{2},
                 {x, dy},
                 {sized_like(weight), sized_like(bias)},
                 steps};
  KernelCase of_replicas{forward.name + " weight gradient of replicas",
                         ExpertLinearWeightGradient{3, false, 2},
                         {x, dy},
                         {sized_like(replica_weight), sized_like(replica_bias)},
                         steps};
  cases.push_back({forward, 0, input, 0, {0}});
  cases.push_back({forward, 0, own, 1, {1, 2}});
  cases.push_back({forward, 0, of_replicas, 1, {3, 4}});

  forward.name += ", without biases";
  forward.reads = {x, weight, replica_weight};
  of_replicas.name = forward.name + " weight gradient of replicas";
  of_replicas.writes.pop_back();
  cases.push_back({forward, 0, of_replicas, 1, {2}});
}

void add_experts(Cases& cases) {
  struct Shape {
    const char* name;
    int inputs, outputs;
    std::vector<std::vector<RowRange>> chunks;  ///< [chunk][local expert]
  };
  const std::vector<Shape> shapes{
      {"expert_linear one expert", 5, 4, {{{0, 9}}}},
      {"expert_linear uneven", 3, 6, {{{0, 5}, {5, 1}, {6, 13}}}},
      {"expert_linear empty expert", 4, 3, {{{0, 0}, {0, 4}, {4, 0}}}},
      {"expert_linear no rows", 4, 3, {{{0, 0}, {0, 0}}}},
      {"expert_linear of one size", 8, 6, {{{0, 3}, {3, 3}, {6, 3}, {9, 3}}}},
      {"expert_linear three chunks",
       9,
       5,
       {{{0, 1}, {4, 0}, {4, 3}}, {{1, 1}, {4, 0}, {7, 3}}, {{2, 2}, {4, 0}, {10, 4}}}},
  };
  for (const Shape& shape : shapes) {
    const int experts = static_cast<int>(shape.chunks[0].size());
    std::int64_t rows = 0;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < shape.chunks.size(); ++i) {
      for (const RowRange& range : shape.chunks[i]) rows = std::max(rows, range.begin + range.rows);
      steps.push_back({.chunk = {static_cast<int>(i), static_cast<int>(shape.chunks.size())},
                       .accumulate = i > 0,
                       .ranges = shape.chunks[i]});
    }
    KernelCase forward{shape.name,
                       ExpertLinear{experts},
                       {random_tensor(rows, shape.inputs, 1),
                        random_tensor(experts * shape.inputs, shape.outputs, 2),
                        random_tensor(experts, shape.outputs, 3)},
                       {blank(rows, shape.outputs)},
                       steps};
    const HostTensor dy = random_tensor(rows, shape.outputs, 4);
    KernelCase input{forward.name + " input gradient",
                     ExpertLinearInputGradient{experts},
                     {dy, forward.reads[1]},
                     {sized_like(forward.reads[0])},
                     steps};
    KernelCase weight{forward.name + " weight gradient",
                      ExpertLinearWeightGradient{experts},
                      {forward.reads[0], dy},
                      {sized_like(forward.reads[1]), sized_like(forward.reads[2])},
                      steps};
    cases.push_back({forward, 0, input, 0, {0}});
    cases.push_back({forward, 0, weight, 1, {1, 2}});

    forward.name += " without biases";
    forward.reads.pop_back();
    weight.name = forward.name + " weight gradient";
    weight.writes.pop_back();
    cases.push_back({forward, 0, weight, 1, {1}});
  }
  add_expert_replicas(cases);
}

void add_routes(Cases& cases) {
  struct Shape {
    const char* name;
    int tokens, width, experts, choices, groups;
    std::optional<std::int64_t> capacity;
    int chunks;
  };
  const std::vector<Shape> shapes{
      {"route one token", 1, 3, 1, 1, 1, std::nullopt, 1},
      {"route dropless k=1", 23, 5, 4, 1, 1, std::nullopt, 1},
      {"route dropless k=2, 3 chunks", 40, 6, 8, 2, 1, std::nullopt, 3},
      {"route capacity k=1, 2 chunks", 24, 7, 4, 1, 3, 2, 2},
      {"route capacity k=2, 4 chunks", 36, 130, 5, 2, 2, 4, 4},
      {"route capacity 0", 8, 4, 3, 2, 1, 0, 1},
  };
  for (const Shape& shape : shapes) {
    const Gated gated = softmax_gated(
        {shape.experts, shape.choices, shape.choices > 1, shape.groups, shape.capacity},
        random_tensor(shape.tokens, shape.experts, 7, 2));
    const HostTensor &expert = gated.expert, &weight = gated.weight, &slot = gated.slot,
                     &offsets = gated.offsets;
    const auto rows = static_cast<std::int64_t>(offsets.values.back());
    std::vector<Step> steps;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      steps.push_back({.chunk = {chunk, shape.chunks}});
    }
    const std::string name = shape.name;

    const HostTensor x = random_tensor(shape.tokens, shape.width, 1);
    KernelCase permute{"permute, " + name,
                       Permute{shape.choices},
                       {x, expert, slot, offsets},
                       {blank(rows, shape.width)},
                       steps};
    KernelCase permute_gradient{"permute_gradient, " + name,
                                PermuteGradient{shape.choices},
                                {random_tensor(rows, shape.width, 2), expert, slot, offsets},
                                {sized_like(x)}};
    cases.push_back({permute, 0, permute_gradient, 0, {0}});

    const HostTensor returned = random_tensor(rows, shape.width, 3);
    const HostTensor dy = random_tensor(shape.tokens, shape.width, 4);
    KernelCase combine{"combine, " + name,
                       Combine{shape.choices},
                       {returned, expert, weight, slot, offsets},
                       {sized_like(x)}};
    KernelCase combine_input{"combine_input_gradient, " + name,
                             CombineInputGradient{shape.choices},
                             {dy, expert, weight, slot, offsets},
                             {sized_like(returned)},
                             steps};
    KernelCase combine_weight{"combine_weight_gradient, " + name,
                              CombineWeightGradient{shape.choices},
                              {dy, returned, expert, slot, offsets},
                              {sized_like(weight)}};
    cases.push_back({combine, 0, combine_input, 0, {0}});
    cases.push_back({combine, 0, combine_weight, 0, {2}});

    const KernelCase mask{"dispatch_mask, " + name,
                          DispatchMask{shape.choices},
                          {expert, slot, offsets, weight},
                          {blank(rows, shape.tokens)},
                          steps};
    const KernelCase mask_gradient{"dispatch_mask_gradient, " + name,
                                   DispatchMaskGradient{shape.choices},
                                   {random_tensor(rows, shape.tokens, 5), expert, slot, offsets},
                                   {sized_like(weight)}};
    cases.push_back({mask, 0, mask_gradient, 0, {3}});
  }
}

void add_cross_entropy(Cases& cases) {
  for (const auto& [tokens, vocabulary] : {std::pair{1, 2}, {13, 7}, {6, 1000}}) {
    const std::int64_t global_tokens = 3 * tokens;
    KernelCase forward{
        "cross_entropy " + std::to_string(tokens) + "x" + std::to_string(vocabulary),
        CrossEntropy{global_tokens},
        {random_tensor(tokens, vocabulary, 1, 4), random_integers(tokens, 1, 2, vocabulary)},
        {blank(1, 1), blank(tokens, 1)}};
    const auto out = reference(forward);
    KernelCase gradient{forward.name + " gradient",
                        CrossEntropyGradient{global_tokens},
                        {forward.reads[0], forward.reads[1], out[1]},
                        {blank(tokens, vocabulary)}};
    cases.push_back({forward, 0, gradient, -1, {0}});
  }
}

}  // namespace

std::vector<GradientCase> gradient_cases() {
  Cases cases;
  add_embed(cases);
  add_layer_norm(cases);
  add_rms_norm(cases);
  add_linear(cases);
  add_activation<Gelu, GeluGradient>(cases, "gelu");
  add_activation<Relu, ReluGradient>(cases, "relu");
  add_gated<GatedSilu, GatedSiluGradient>(cases, "gated_silu", 4);
  add_gated<ClampedSwiglu, ClampedSwigluGradient>(cases, "clamped_swiglu", 9);
  add_activation<Sigmoid, SigmoidGradient>(cases, "sigmoid");
  add_experts(cases);
  add_routes(cases);
  for (GradientCase& pair : head_gradient_cases()) cases.push_back(std::move(pair));
  for (GradientCase& pair : gate_gradient_cases()) cases.push_back(std::move(pair));
  for (GradientCase& pair : order_gradient_cases()) cases.push_back(std::move(pair));
  add_cross_entropy(cases);
  return cases;
}

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> cases;
  for (GradientCase& pair : gradient_cases()) {
    if (cases.empty() || cases.back().name != pair.forward.name) {
      bool known = false;
      for (const KernelCase& other : cases) known = known || other.name == pair.forward.name;
      if (!known) cases.push_back(std::move(pair.forward));
    }
    cases.push_back(std::move(pair.gradient));
  }
  for (KernelCase& kernel : gate_cases()) cases.push_back(std::move(kernel));
  for (KernelCase& kernel : group_and_wire_cases()) cases.push_back(std::move(kernel));
  cases.push_back(
      {"add", Add{}, {random_tensor(31, 9, 1), random_tensor(31, 9, 2)}, {blank(31, 9)}});
  cases.push_back({"scale", Scale{0.375}, {random_tensor(31, 9, 1)}, {blank(31, 9)}});
  cases.push_back({"narrow", Narrow{}, {random_tensor(31, 9, 1)}, {blank(31, 9)}});
  cases.push_back({"add, slice",
                   Add{},
                   {random_tensor(31, 9, 1), random_tensor(31, 9, 2)},
                   {blank(31, 9)},
                   {{.ranges = {{2, 4}, {20, 11}}}}});
  const HostTensor held = random_tensor(7, 5, 3);
  cases.push_back({"embed_tokens_gradient added to a tied head's",
                   EmbedTokensGradient{{6}},
                   {random_integers(12, 1, 1, 7), random_tensor(12, 5, 2), held},
                   {held, blank(6, 5)}});
  const std::vector<Step> halves{{.chunk = {0, 2}, .ranges = {{0, 7}, {20, 3}}},
                                 {.chunk = {1, 2}, .ranges = {{7, 13}, {23, 8}}}};
  cases.push_back(
      {"sum_shares", SumShares{}, {random_tensor(31, 3 * 9, 1)}, {blank(31, 9)}, halves});
  // A vocabulary of 40 that 2 ranks cut; this one has the second half, and tokens 3 to 8 of 12.
  const HostTensor ids = random_integers(12, 1, 5, 40), logits = random_tensor(12, 20, 6, 3);
  const EmbeddedTokens shared{6, 2, 20, 3, 6};
  cases.push_back({"embed_tokens of a shared vocabulary",
                   EmbedTokens{shared},
                   {ids, random_tensor(20, 9, 1), random_tensor(6, 9, 2)},
                   {blank(12, 9)}});
  cases.push_back({"embed_tokens_gradient of a shared vocabulary",
                   EmbedTokensGradient{shared},
                   {ids, random_tensor(12, 9, 3)},
                   {blank(20, 9), blank(6, 9)}});
  cases.push_back(
      {"vocabulary_statistics", VocabularyStatistics{20}, {logits, ids}, {blank(12, 2)}});
  cases.push_back({"shared_cross_entropy",
                   SharedCrossEntropy{36, 2, 1},
                   {random_tensor(24, 2, 7)},
                   {blank(1, 1), blank(12, 1)}});
  cases.push_back({"cross_entropy_gradient of a shared vocabulary",
                   CrossEntropyGradient{36, 20},
                   {logits, ids, random_tensor(12, 1, 8)},
                   {blank(12, 20)}});
  cases.push_back(
      {"pad_offsets", PadOffsets{9}, {{1, 4, {0, 5, 5, 14}, true}}, {blank_integers(2, 4)}});
  cases.push_back({"clear_padding",
                   ClearPadding{},
                   {{2, 4, {0, 9, 18, 27, 5, 0, 9, 0}, true}},
                   {random_tensor(27, 70, 1)},
                   {{.chunk = {0, 2}, .ranges = {{0, 4}, {9, 4}, {18, 4}}},
                    {.chunk = {1, 2}, .ranges = {{4, 5}, {13, 5}, {22, 5}}}}});
  cases.push_back({"add_returned, of experts 2, 0 and 2 again",
                   AddReturned{{{}, 3}},
                   {random_tensor(3 * 7, 9, 1), random_tensor(4, 5, 2)},
                   {random_tensor(3 * 7, 9, 3), random_tensor(3, 5, 4)},
                   {{.ranges = {{2, 1}, {0, 1}, {2, 1}}}}});
  cases.push_back({"expert_linear with a share of the bias",
                   ExpertLinear{2, 0.25},
                   {random_tensor(31, 6, 1), random_tensor(2 * 6, 9, 2), random_tensor(2, 9, 3)},
                   {blank(31, 9)},
                   halves});
  for (const int step : {1, 7}) {
    HostTensor second = random_tensor(70, 130, 4);
    for (double& value : second.values) value *= value;
    cases.push_back({"adam step " + std::to_string(step),
                     AdamStep{},
                     {random_tensor(70, 130, 1), step_number(step)},
                     {random_tensor(70, 130, 2), random_tensor(70, 130, 3), second}});
  }
  HostTensor squares = random_tensor(21, 13, 4);
  for (double& value : squares.values) value *= value;
  const LearningRate falling{1e-2, 1e-3, 2, 9, RateSchedule::cosine};
  const HostTensor factor{1, 1, {0.375}};
  cases.push_back({"adamw that clips",
                   AdamStep{.rate = falling, .weight_decay = 0.1},
                   {random_tensor(21, 13, 1), step_number(5), random_tensor(21, 13, 2),
                    random_tensor(21, 13, 3), squares, factor},
                   {random_tensor(21, 13, 2), random_tensor(21, 13, 3), squares}});
  cases.push_back({"sgd",
                   SgdStep{},
                   {random_tensor(21, 13, 1), step_number(1)},
                   {random_tensor(21, 13, 2), random_tensor(21, 13, 3)}});
  cases.push_back({"sgd with decay and Nesterov's momentum that clips",
                   SgdStep{.rate = falling, .weight_decay = 0.1, .nesterov = true},
                   {random_tensor(21, 13, 1), step_number(5), random_tensor(21, 13, 2),
                    random_tensor(21, 13, 3), factor},
                   {random_tensor(21, 13, 2), random_tensor(21, 13, 3)}});
  cases.push_back({"sum_squares",
                   SumSquares{0.25},
                   {random_tensor(21, 13, 1), random_tensor(130, 301, 2)},
                   {blank(4, 1)}});
  cases.push_back({"add_squares",
                   AddSquares{},
                   {random_tensor(21, 1, 1), random_tensor(1300, 1, 2)},
                   {blank(1, 1)}});
  cases.push_back({"clip_factor", ClipFactor{0.5}, {factor}, {blank(1, 1), blank(1, 1)}});
  const HostTensor limit{1, 1, {0.5}}, no_step{1, 1, {-1}};  // the norm is the root of 0.375
  cases.push_back(
      {"clip_factor of an outlier", ClipFactor{0.5}, {factor, limit}, {blank(1, 1), blank(1, 1)}});
  cases.push_back({"adam passed over",
                   AdamStep{},
                   {random_tensor(21, 13, 1), step_number(5), random_tensor(21, 13, 2),
                    random_tensor(21, 13, 3), squares, no_step},
                   {random_tensor(21, 13, 2), random_tensor(21, 13, 3), squares}});
  return cases;
}

}  // namespace moe::test
