#include "viewer/model/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace viewer {

namespace {

double linear(float channel) {
  return channel <= 0.04045F ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

float gamma_encoded(double channel) {
  const double encoded =
      channel <= 0.0031308 ? 12.92 * channel : 1.055 * std::pow(channel, 1 / 2.4) - 0.055;
  return static_cast<float>(std::clamp(encoded, 0.0, 1.0));
}

struct Lab {
  double l, a, b;
};

Lab to_oklab(Color color) {
  const double r = linear(color.r), g = linear(color.g), b = linear(color.b);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

struct KindColor {
  std::string_view word;  ///< found anywhere in the op's kind; the first entry that fits decides
  Color color;
};

// Hues lean on the blue-orange axis, which every common colour-vision deficiency keeps apart.
constexpr std::array<KindColor, 13> kCommunication = {{
    {"all_to_all", rgb(0xF59E2C)},
    {"all_reduce", rgb(0xE8713C)},
    {"reduce_scatter", rgb(0xC77224)},
    {"all_gather", rgb(0xF5D25C)},
    {"scatter_rows", rgb(0xCB8A62)},
    {"gather_rows", rgb(0xEBC98F)},
    {"exchange_counts", rgb(0xFFE9A8)},
    {"gather_loads", rgb(0xFFE9A8)},
    {"exchange_across_nodes", rgb(0xD6BC00)},
    {"exchange_in_node", rgb(0xB6A021)},
    {"exchange_step", rgb(0x95840B)},
    {"broadcast", rgb(0xD9A566)},
    {"", rgb(0xE8B26A)},
}};

constexpr std::array<KindColor, 19> kComputation = {{
    {"expert_linear", rgb(0x32BDC6)},
    {"linear", rgb(0x5B9BE6)},
    {"gemm", rgb(0x5B9BE6)},
    {"attention", rgb(0x7E8CF2)},
    {"rotary", rgb(0x8FA2F5)},
    {"gated_silu", rgb(0x84CFD9)},
    {"load_balancing", rgb(0xC9B2EE)},
    {"gate", rgb(0xA988E2)},
    {"permute", rgb(0xB4E3EF)},
    {"combine", rgb(0x93D3E6)},
    {"layer_norm", rgb(0xA9BCE0)},
    {"rms_norm", rgb(0xA9BCE0)},
    {"embed", rgb(0xB9C7E8)},
    {"cross_entropy", rgb(0xD3C4F5)},
    {"gelu", rgb(0x9CDDE0)},
    {"relu", rgb(0x9CDDE0)},
    {"add", rgb(0xCFDAEC)},
    {"adam", rgb(0x9AA7B8)},
    {"sgd", rgb(0x9AA7B8)},
}};

constexpr Color kOtherComputation = rgb(0x7FA8D8);
constexpr Color kCopy = rgb(0xB9B4A6);
constexpr Color kHost = rgb(0x9B9BA1);
constexpr Color kUnknown = rgb(0x7C7F86);

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

template <std::size_t N>
Color first_match(const std::array<KindColor, N>& table, std::string_view kind, Color otherwise) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const KindColor& k) { return has(kind, k.word); });
  return found == table.end() ? otherwise : found->color;
}

Color base_color(const db::TimelineOp& op) {
  const Activity activity = activity_of(op);
  switch (activity) {
    case Activity::computation:
      return first_match(kComputation, op.kind, kOtherComputation);
    case Activity::communication:
      return first_match(kCommunication, op.kind, kCommunication.back().color);
    case Activity::copy:
    case Activity::host:
    case Activity::unknown:
      break;
  }
  return activity_color(activity);
}

Color darker(Color color, double factor) {
  OkLch lch = to_oklch(color);
  lch.lightness *= factor;
  return from_oklch(lch);
}

}  // namespace

OkLch to_oklch(Color color) {
  const Lab lab = to_oklab(color);
  return {lab.l, std::hypot(lab.a, lab.b), std::atan2(lab.b, lab.a)};
}

Color from_oklch(OkLch color) {
  const double a = color.chroma * std::cos(color.hue), b = color.chroma * std::sin(color.hue);
  const double l = std::pow(color.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(color.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(color.lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {gamma_encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          gamma_encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          gamma_encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double luminance(Color color) {
  return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b);
}

double contrast(Color a, Color b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

Color text_on(Color background) {
  constexpr Color kDark = rgb(0x10141A), kLight = rgb(0xFAFBFC);
  return contrast(background, kDark) >= contrast(background, kLight) ? kDark : kLight;
}

Color mix(Color a, Color b, float share) {
  return {a.r + (b.r - a.r) * share, a.g + (b.g - a.g) * share, a.b + (b.b - a.b) * share};
}

Color activity_color(Activity activity) {
  switch (activity) {
    case Activity::computation:
      return rgb(0x5B9BE6);
    case Activity::communication:
      return rgb(0xF59E2C);
    case Activity::copy:
      return kCopy;
    case Activity::host:
      return kHost;
    case Activity::unknown:
      break;
  }
  return kUnknown;
}

Color op_color(const db::TimelineOp& op) {
  const Color base = base_color(op);
  if (has(op.kind, "weight_gradient")) return darker(base, 0.795);
  if (has(op.kind, "gradient")) return darker(base, 0.895);
  return base;
}

Color heat(double share) {
  const double t = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  // Hue turns from violet through red to yellow; chroma swells in the middle, where sRGB has room
  // for it.
  const double hue = (300 + 170 * t) * std::numbers::pi / 180;
  return from_oklch({0.20 + 0.74 * t,
                     0.08 + 0.10 * std::sin(std::numbers::pi * std::min(1.0, t * 0.9 + 0.05)),
                     hue});
}

}  // namespace viewer
