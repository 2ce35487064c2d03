#pragma once

#include <string_view>

#include "db/records.h"
#include "viewer/model/timeline.h"

/// Colours as plain numbers: their meanings, and which are readable on which. No drawing here.
namespace viewer {

/// sRGB, each channel in [0, 1].
struct Color {
  float r = 0;
  float g = 0;
  float b = 0;
  bool operator==(const Color&) const = default;
};

/// 0xRRGGBB.
constexpr Color rgb(unsigned hex) {
  return {static_cast<float>(hex >> 16 & 255U) / 255.0F,
          static_cast<float>(hex >> 8 & 255U) / 255.0F, static_cast<float>(hex & 255U) / 255.0F};
}

/// Lightness, chroma and hue (radians) of OKLab (B. Ottosson, 2020), where equal distances look
/// equal.
struct OkLch {
  double lightness = 0;
  double chroma = 0;
  double hue = 0;
};
OkLch to_oklch(Color color);
Color from_oklch(OkLch color);  ///< clipped to sRGB

/// Relative luminance as WCAG 2 defines it, 0 to 1, and the contrast ratio of two colours, 1 to 21.
double luminance(Color color);
double contrast(Color a, Color b);

/// Near black or near white, whichever contrasts more with `background`.
Color text_on(Color background);

/// a + (b - a) * share, channel by channel.
Color mix(Color a, Color b, float share);

/// The colour of an activity as a whole.
Color activity_color(Activity activity);

/// The colour of an op. Its activity gives the family: computation is blue to green to violet,
/// communication yellow to orange to red, copies and host work are grey. Its kind gives the hue.
/// Gradients are darker than their forward op, weight gradients darker still.
Color op_color(const db::TimelineOp& op);

/// The colour of a load, for a share in [0, 1]. Lightness rises evenly from dark violet to light
/// yellow.
Color heat(double share);

}  // namespace viewer
