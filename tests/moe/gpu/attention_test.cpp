// Attention in bf16 on a CUDA device, by a fused kernel where there is one, with scratches of several
// sizes. MOELAB_ATTENTION=tiles has the same tests of tiles.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::gpu_attention_test {
namespace {

class CudaAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    cuda_ = make_cuda_backend(0);
  }
  void expect_like_cpu(const KernelCase& kernel) {
    EXPECT_THAT(deviations_in_bf16(*cuda_, kernel), ::testing::IsEmpty()) << kernel.name;
  }

  std::unique_ptr<Backend> cuda_;
};

struct Sizes {
  int sequences, length, heads, key_value_heads, head_width;
  int value_width = head_width;
  double scale = 0;
};

KernelCase forward_case(const Sizes& s) {
  const int columns = s.heads * s.head_width + s.key_value_heads * (s.head_width + s.value_width);
  return attention_case({s.heads, s.length, s.key_value_heads, 0, s.scale, s.value_width},
                        random_tensor(s.sequences * s.length, columns, 1, 2));
}
KernelCase gradient_case(const Sizes& s) {
  const KernelCase forward = forward_case(s);
  return attention_gradient_case(forward,
                                 random_tensor(s.sequences * s.length, s.heads * s.value_width, 2),
                                 reference(forward));
}

TEST_F(CudaAttention, IsThatOfTheProcessor) {
  for (const Sizes& sizes : {Sizes{1, 64, 1, 1, 8},
                             {3, 33, 2, 2, 16},
                             {2, 130, 6, 2, 8},
                             {4, 128, 4, 1, 64},
                             {2, 70, 4, 2, 8, 8, 0.5},
                             {2, 130, 4, 2, 24, 16},
                             {1, 70, 2, 2, 12, 7},
                             {1, 300, 2, 2, 128}}) {
    expect_like_cpu(forward_case(sizes));
    expect_like_cpu(gradient_case(sizes));
  }
}

/// All at once, then a sequence, then a head of keys, then no part by a fused kernel.
TEST_F(CudaAttention, IsTheSameInAnyScratch) {
  const Sizes sizes{2, 70, 12, 2, 8};
  KernelCase gradient = gradient_case(sizes);
  const AttentionHeads heads{2, 6, 8};
  const std::int64_t of_head = fused_gradient_bytes(heads, sizes.length) / 4 + 64;
  const std::int64_t of_tiles =
      AttentionScratch::of(kGpuAttentionTile, sizes.length, {8}, true, true).elements;
  for (const std::int64_t elements : {4 * of_head, 2 * of_head, of_head, 2 * of_tiles}) {
    ASSERT_GE(elements, 2 * of_tiles);
    gradient.writes[1] = blank(2, (elements + 1) / 2);
    expect_like_cpu(gradient);
  }
}

TEST_F(CudaAttention, HasTheSameBitsOnEveryRun) {
  for (const KernelCase& kernel :
       {forward_case({2, 200, 4, 2, 16}), gradient_case({2, 200, 4, 2, 16})}) {
    const auto first = run_case(*cuda_, kernel, DType::bf16);
    const auto second = run_case(*cuda_, kernel, DType::bf16);
    for (std::size_t i = 0; i < results_of(kernel); ++i) {
      EXPECT_EQ(first[i].values, second[i].values) << kernel.name << ", output " << i;
    }
  }
}

TEST_F(CudaAttention, RefusesAScratchThatIsTooSmall) {
  KernelCase attention = forward_case({1, 64, 2, 2, 8});
  attention.writes[2] = blank(2, 100);
  EXPECT_THROW(run_case(*cuda_, attention, DType::bf16), std::logic_error);
}

/// Which kernels a training uses is part of the name that it prints.
TEST_F(CudaAttention, IsNamed) {
  EXPECT_THAT(cuda_->name(), ::testing::HasSubstr(", attention in bf16 by "));
  if (const char* choice = std::getenv("MOELAB_ATTENTION")) {
    const bool tiles = cuda_->name().ends_with(" by tiles");
    EXPECT_EQ(tiles, std::string(choice) == "tiles") << cuda_->name();
  }
}

}  // namespace
}  // namespace moe::test::gpu_attention_test
