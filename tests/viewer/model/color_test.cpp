#include "viewer/model/color.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "viewer/model/op_class.h"

namespace viewer {
namespace {

const std::vector<std::string> kComputation = {"embed_tokens",
                                               "layer_norm",
                                               "linear",
                                               "linear_input_gradient",
                                               "linear_weight_gradient",
                                               "attention",
                                               "attention_gradient",
                                               "add",
                                               "gelu",
                                               "gate",
                                               "load_balancing_loss",
                                               "permute",
                                               "expert_linear",
                                               "expert_linear_input_gradient",
                                               "expert_linear_weight_gradient",
                                               "combine",
                                               "cross_entropy"};
const std::vector<std::string> kCommunication = {"all_to_all",     "all_reduce",      "all_gather",
                                                 "reduce_scatter", "exchange_counts", "broadcast"};

db::TimelineOp op_of(const std::string& kind) {
  db::TimelineOp op;
  op.kind = kind;
  op.stream = "compute";
  return op;
}

using Matrix = std::array<std::array<double, 3>, 3>;

// What people without one of the cone types see, in linear light (Vienot, Brettel and Mollon, 1999,
// with the luminance-keeping matrices that are usually given for sRGB).
constexpr Matrix kProtanopia = {
    {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}}};
constexpr Matrix kDeuteranopia = {
    {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}}};

double to_linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }
float to_srgb(double c) {
  c = std::clamp(c, 0.0, 1.0);
  return static_cast<float>(c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055);
}

Color seen_with(const Matrix& m, Color color) {
  const std::array<double, 3> in = {to_linear(color.r), to_linear(color.g), to_linear(color.b)};
  std::array<double, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * in[0] + m[i][1] * in[1] + m[i][2] * in[2];
  return {to_srgb(out[0]), to_srgb(out[1]), to_srgb(out[2])};
}

TEST(Color, CommunicationIsApartFromComputationForDichromatsToo) {
  constexpr double kPlainlyDifferent = 0.08;
  for (const std::string& computation : kComputation) {
    for (const std::string& communication : kCommunication) {
      const Color a = op_color(op_of(computation)), b = op_color(op_of(communication));
      EXPECT_GT(perceived_distance(a, b), kPlainlyDifferent)
          << computation << " and " << communication;
      for (const Matrix& vision : {kProtanopia, kDeuteranopia}) {
        EXPECT_GT(perceived_distance(seen_with(vision, a), seen_with(vision, b)), kPlainlyDifferent)
            << computation << " and " << communication;
      }
    }
  }
}

TEST(Color, TextOnEverySpanIsReadable) {
  for (const auto* kinds : {&kComputation, &kCommunication}) {
    for (const std::string& kind : *kinds) {
      const Color fill = op_color(op_of(kind));
      EXPECT_GE(contrast(fill, text_on(fill)), 4.5) << kind;
    }
  }
}

TEST(Color, GradientsAreDarkerThanTheirOp) {
  const double forward = luminance(op_color(op_of("linear")));
  const double dx = luminance(op_color(op_of("linear_input_gradient")));
  const double dw = luminance(op_color(op_of("linear_weight_gradient")));
  EXPECT_GT(forward, dx);
  EXPECT_GT(dx, dw);
}

TEST(Color, HeatGetsLighterInEvenSteps) {
  constexpr int kSteps = 32;
  for (int i = 1; i <= kSteps; ++i) {
    const double step = to_oklch(heat(static_cast<double>(i) / kSteps)).lightness -
                        to_oklch(heat(static_cast<double>(i - 1) / kSteps)).lightness;
    EXPECT_NEAR(step, 0.74 / kSteps, 0.012) << "step " << i;
  }
  EXPECT_EQ(heat(-1), heat(0));
  EXPECT_EQ(heat(2), heat(1));
  EXPECT_EQ(heat(std::nan("")), heat(0));
}

TEST(Color, OklchRoundTrips) {
  for (const unsigned hex : {0x000000U, 0xFFFFFFU, 0xF39B2DU, 0x5B9BE6U, 0x2FB8A0U}) {
    EXPECT_LT(perceived_distance(rgb(hex), from_oklch(to_oklch(rgb(hex)))), 1e-3);
  }
}

TEST(OpClass, KnownKindsDecideAndUnknownOnesFollowTheirStream) {
  EXPECT_EQ(classify(op_of("all_to_all")), OpClass::communication);
  EXPECT_EQ(classify(op_of("expert_linear")), OpClass::computation);
  EXPECT_EQ(classify(op_of("combine")), OpClass::computation);
  db::TimelineOp unknown = op_of("ncclKernel");
  unknown.stream = "inter_node";
  EXPECT_EQ(classify(unknown), OpClass::communication);
  unknown.stream = "host";
  EXPECT_EQ(classify(unknown), OpClass::host);
}

TEST(OpClass, LabelsNameTheChunkAndShortOnesLeaveTheKindOut) {
  db::TimelineOp op = op_of("all_to_all");
  op.name = "all_to_all dispatch";
  op.chunk = 1;
  op.chunks = 4;
  EXPECT_EQ(op_label(op), "all_to_all dispatch 2/4");
  EXPECT_EQ(short_op_label(op), "dispatch 2/4");
  EXPECT_EQ(base_kind("expert_linear_weight_gradient"), "expert_linear");
  EXPECT_EQ(base_kind("gelu_gradient"), "gelu");
  EXPECT_EQ(base_kind("gate"), "gate");
}

}  // namespace
}  // namespace viewer
