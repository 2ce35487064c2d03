#include "viewer/model/color.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace viewer::color_test {
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
                                               "relu",
                                               "gated_silu",
                                               "rms_norm",
                                               "rotary",
                                               "gate",
                                               "load_balancing_loss",
                                               "permute",
                                               "expert_linear",
                                               "expert_linear_input_gradient",
                                               "expert_linear_weight_gradient",
                                               "combine",
                                               "cross_entropy",
                                               "sum_shares"};
const std::vector<std::string> kCommunication = {
    "all_to_all",  "all_reduce",   "all_gather",       "reduce_scatter",        "exchange_counts",
    "gather_rows", "scatter_rows", "exchange_in_node", "exchange_across_nodes", "exchange_step"};

db::TimelineOp op_of(const std::string& kind, const std::string& activity) {
  db::TimelineOp op;
  op.kind = kind;
  op.activity = activity;
  return op;
}

Color computing(const std::string& kind) { return op_color(op_of(kind, "computation")); }
Color communicating(const std::string& kind) { return op_color(op_of(kind, "communication")); }

// Euclidean distance in OKLab; about 0.02 is just visible.
double perceived_distance(Color a, Color b) {
  const OkLch x = to_oklch(a), y = to_oklch(b);
  return std::hypot(x.lightness - y.lightness,
                    x.chroma * std::cos(x.hue) - y.chroma * std::cos(y.hue),
                    x.chroma * std::sin(x.hue) - y.chroma * std::sin(y.hue));
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
      const Color a = computing(computation), b = communicating(communication);
      EXPECT_GT(perceived_distance(a, b), kPlainlyDifferent)
          << computation << " and " << communication;
      for (const Matrix& vision : {kProtanopia, kDeuteranopia}) {
        EXPECT_GT(perceived_distance(seen_with(vision, a), seen_with(vision, b)), kPlainlyDifferent)
            << computation << " and " << communication;
      }
    }
  }
}

TEST(Color, CommunicationsOfAnIterationAreUnlikeEachOther) {
  for (const std::string& one : kCommunication) {
    for (const std::string& other : kCommunication) {
      if (one != other) {
        EXPECT_GT(perceived_distance(communicating(one), communicating(other)), 0.03)
            << one << " and " << other;
      }
    }
  }
}

TEST(Color, TextOnEverySpanIsReadable) {
  for (const std::string& kind : kComputation) {
    EXPECT_GE(contrast(computing(kind), text_on(computing(kind))), 4.5) << kind;
  }
  for (const std::string& kind : kCommunication) {
    EXPECT_GE(contrast(communicating(kind), text_on(communicating(kind))), 4.5) << kind;
  }
}

TEST(Color, GradientsAreDarkerThanTheirOp) {
  const double forward = luminance(computing("linear"));
  const double dx = luminance(computing("linear_input_gradient"));
  const double dw = luminance(computing("linear_weight_gradient"));
  EXPECT_GT(forward, dx);
  EXPECT_GT(dx, dw);
}

TEST(Color, TheActivityChoosesTheFamilyWhateverTheKindIsCalled) {
  EXPECT_EQ(computing("ncclAllReduce"), computing("a kind that nobody knows"));
  EXPECT_EQ(op_color(op_of("linear", "copy")), activity_color(Activity::copy));
  EXPECT_EQ(op_color(op_of("", "host")), activity_color(Activity::host));
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

}  // namespace
}  // namespace viewer::color_test
