#include "moe/kernels/rotary_rate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace moe::rotary_rate_test {
namespace {

AngleScaling scaling_of(const std::string& name) {
  if (name == "linear") return AngleScaling::linear;
  return name == "llama3" ? AngleScaling::llama3 : AngleScaling::yarn;
}

/// tests/golden/make_rotary_golden.py; the library works them out in float.
TEST(RotaryRate, IsThatOfTheLibraryTransformers) {
  std::ifstream file(MOELAB_SOURCE_DIR "/tests/golden/rotary_rates.json");
  const auto golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden["cases"].size(), 5u);
  for (const auto& expected : golden["cases"]) {
    SCOPED_TRACE(expected["scaling"]);
    RotaryAngles angles;
    angles.base = expected["base"];
    angles.scaling = scaling_of(expected["scaling"]);
    angles.factor = expected["factor"];
    angles.trained_length = expected.value("trained_length", 0.0);
    angles.slow_turns = expected.value("slow_turns", angles.slow_turns);
    angles.fast_turns = expected.value("fast_turns", angles.fast_turns);
    angles.whole_pairs = expected.value("whole_pairs", true);
    const std::int64_t columns = expected["columns"];
    const RotaryRate rate = RotaryRate::of(angles, columns);
    ASSERT_EQ(static_cast<std::int64_t>(expected["rates"].size()), columns / 2);
    for (std::int64_t pair = 0; pair < columns / 2; ++pair) {
      const double value = expected["rates"][static_cast<std::size_t>(pair)];
      EXPECT_NEAR(rate(pair), value, 2e-6 * value) << pair;
    }
  }
}

TEST(RotaryRate, FallsByTheBaseWhereNothingIsScaled) {
  const RotaryRate rate = RotaryRate::of({.base = 100}, 4);
  EXPECT_DOUBLE_EQ(rate(0), 1);
  EXPECT_DOUBLE_EQ(rate(1), 0.1);
}

}  // namespace
}  // namespace moe::rotary_rate_test
