// cuDNN has plans of attention for the shapes of the benchmarks on cards that are not here: it takes
// their properties as text. plans_test.sh starts it, with a driver of empty functions.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>

#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/ops/attention.h"

namespace moe::test::cudnn_plans_test {
namespace {

/// A card, by the figures that differ between cards [NVIDIA's tuning guides; cudaGetDeviceProperties].
struct Card {
  const char* name;
  int compute_capability, multiprocessors;
  std::int64_t shared_bytes, memory_bytes, cache_bytes;
  friend std::ostream& operator<<(std::ostream& out, const Card& card) { return out << card.name; }
};
constexpr Card kCards[]{{"A100", 80, 108, 166912, 85'100'000'000, 41943040},
                        {"H200", 90, 132, 232448, 150'754'820'096, 62914560},
                        {"B200", 100, 148, 232448, 191'000'000'000, 132644864}};

DescribedDevice described(const Card& card) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  return {"{\"deviceName\":\"" + std::string(card.name) +
              "\",\"driverVer\":13000,\"deviceVer\":" + text(10 * card.compute_capability) +
              ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]"
              ",\"regsPerBlock\":65536,\"multiProcessorCount\":" +
              text(card.multiprocessors) +
              ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152"
              ",\"maxSharedMemoryPerBlockOptin\":" +
              text(card.shared_bytes) +
              ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536"
              ",\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048"
              ",\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":" +
              text(card.memory_bytes) +
              ",\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,\"l2CacheSize\":" +
              text(card.cache_bytes) + ",\"cudaDeviceId\":0}",
          card.compute_capability};
}

struct Shape {
  const char* name;
  std::int64_t sequences, length, heads, key_value_heads, head_width;
  std::int64_t value_width = head_width;
};
constexpr Shape kShapes[]{{"gpu-layer", 8, 1024, 32, 32, 128},
                          {"Mixtral's layer", 2, 4096, 32, 8, 128},
                          {"Mixtral's layer, length 8192", 1, 8192, 32, 8, 128},
                          {"no power of two", 3, 1000, 12, 4, 64},
                          {"an odd length", 3, 1001, 12, 4, 64},
                          {"DeepSeek-V3's layer", 1, 4096, 128, 128, 192, 128}};

TEST(Cudnn, IsNoErrorWhereItIsMissing) {
  ASSERT_EQ(dlopen("libcudnn.so.9", RTLD_LAZY), nullptr) << "plans_test.sh hides it";
  EXPECT_EQ(fused_library_name(), "");
  EXPECT_EQ(open_fused_library(), nullptr);
}

/// Without a driver it has no device to begin on. Then attention must go on without it.
TEST(CudnnAlone, LeavesAttentionToTiles) {
  ASSERT_NE(fused_library_name(), "");
  EXPECT_ANY_THROW(open_fused_library());
  unsetenv("MOELAB_ATTENTION");
  EXPECT_EQ(FusedAttention::chosen(), nullptr);
  setenv("MOELAB_ATTENTION", "fused", 1);
  EXPECT_ANY_THROW(FusedAttention::chosen());
}

class CudnnPlans : public ::testing::TestWithParam<Card> {};

/// The scratch that a plan of memory has for the op is enough, and the calls cover all heads once.
TEST_P(CudnnPlans, ComputeBothDirectionsInThePlannedScratch) {
  const DescribedDevice device = described(GetParam());
  const auto library = open_fused_library(&device);
  ASSERT_NE(library, nullptr);
  for (const Shape& shape : kShapes) {
    const std::int64_t row = (shape.heads + shape.key_value_heads) * shape.head_width +
                             shape.key_value_heads * shape.value_width;
    const FusedSizes whole{
        shape.sequences,  shape.length,      shape.heads, shape.key_value_heads,
        shape.head_width, shape.value_width, row,         shape.heads * shape.value_width};
    const AttentionHeads heads{shape.key_value_heads, shape.heads / shape.key_value_heads,
                               shape.head_width, shape.value_width};
    for (const bool gradient : {false, true}) {
      SCOPED_TRACE(std::string(shape.name) + (gradient ? ", gradient" : ""));
      const std::int64_t room = 4 * shape.key_value_heads *
                                attention_scratch_columns(heads, shape.length, true, gradient);
      const FusedCalls calls = plan_calls(*library, whole, gradient, room);
      // cuDNN has no gradient of heads as wide for sm_80: tiles compute it.
      const bool is_refused =
          gradient && shape.head_width > 128 && GetParam().compute_capability < 90;
      EXPECT_EQ(calls.calls.empty(), is_refused) << calls.refusal;
      EXPECT_EQ(calls.refusal.empty(), !is_refused) << calls.refusal;
      std::int64_t most = 0;
      for (const auto& plan : calls.plans) most = std::max(most, plan->workspace_bytes());
      EXPECT_LE(most, room);
      std::printf("%s: %s%s: calls %zu, workspace %lld of %lld bytes\n", GetParam().name,
                  shape.name, gradient ? ", gradient" : "", calls.calls.size(),
                  static_cast<long long>(most), static_cast<long long>(room));
    }
  }
}

TEST_P(CudnnPlans, AreRefusedWithAReason) {
  const DescribedDevice device = described(GetParam());
  const auto library = open_fused_library(&device);
  ASSERT_NE(library, nullptr);
  const FusedCalls calls = plan_calls(*library, {1, 64, 2, 2, 3, 3, 18, 6}, false, 1 << 20);
  EXPECT_TRUE(calls.calls.empty());
  EXPECT_NE(calls.refusal, "");
}

INSTANTIATE_TEST_SUITE_P(On, CudnnPlans, ::testing::ValuesIn(kCards),
                         [](const auto& card) { return std::string(card.param.name); });

}  // namespace
}  // namespace moe::test::cudnn_plans_test
