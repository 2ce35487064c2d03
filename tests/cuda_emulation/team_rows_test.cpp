// Rows of a team on a device: which member has which element, and so the order of a sum, does not depend
// on where rows begin.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "moe/backend/cuda_launch.cuh"
#include "moe/backend/cuda_owned.cuh"
#include "moe/backend/device_team.cuh"

namespace moelab::team_rows_test {
namespace {

/// The sum of a[i] b[i] and of a[i] + b[i], which is stored, and the largest of the latter.
template <int threads>
__global__ void sums_kernel(std::int64_t n, const moe::Bf16* a, const moe::Bf16* b, moe::Bf16* both,
                            float* found) {
  moe::DeviceTeam<threads> team;
  const auto held = team.hold(n, a);
  const auto product = [](moe::Bf16 x, moe::Bf16 y) { return x * y; };
  const auto self = [](moe::Bf16 x) { return float(x); };
  const float dot = team.sum(n, product, held, b), other_way = team.sum(n, product, b, held);
  const auto sums = team.hold(
      n, both, [](moe::Bf16 x, moe::Bf16 y) { return float(x) + float(y); }, a, b);
  const float sum = team.sum(n, self, sums), of_memory = team.sum(n, self, both);
  team.sync();
  const float largest = team.max(n, self, both);
  if (!team.leader()) return;
  found[0] = dot;
  found[1] = other_way;
  found[2] = sum;
  found[3] = of_memory;
  found[4] = largest;
}

constexpr std::int64_t kMost = 9008;
constexpr int kFound = 5;

/// Memory that both sides of a device in software may read.
template <class T>
class Shared {
 public:
  explicit Shared(std::int64_t count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, static_cast<std::size_t>(count) * sizeof(T)), cudaSuccess);
    memory_ = moe::PinnedMemory(memory);
  }
  T* at(std::int64_t i) const { return static_cast<T*>(memory_.get()) + i; }

 private:
  moe::PinnedMemory memory_;
};

/// What a team finds for n numbers; `a` begins `shift` elements behind an address of packs.
template <int threads>
std::vector<float> found_for(std::int64_t n, std::int64_t shift, std::int64_t shift_of_sums) {
  EXPECT_EQ(cudaSetDevice(60), cudaSuccess);
  cudaGetLastError();
  const Shared<moe::Bf16> a(kMost + 8), b(kMost), both(kMost + 8);
  const Shared<float> found(kFound);
  std::vector<moe::Bf16> expected;
  for (std::int64_t i = 0; i < n; ++i) {
    *a.at(shift + i) = static_cast<float>(i % 97) / 64 - 0.7f;
    *b.at(i) = static_cast<float>(i % 41) / 32;
    expected.emplace_back(float(*a.at(shift + i)) + float(*b.at(i)));
  }
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const moe::OwnedStream owned(stream);
  moe::launch_kernel("sums_kernel", sums_kernel<threads>, 1, threads, stream, n, a.at(shift),
                     b.at(0), both.at(shift_of_sums), found.at(0));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(both.at(shift_of_sums + i)->bits, expected[static_cast<std::size_t>(i)].bits) << i;
  }
  return {found.at(0), found.at(kFound)};
}

template <int threads>
void expect_same_bits_everywhere() {
  // One pack, a warp's, a block's, more than a thread holds, and what packs do not divide.
  for (const std::int64_t n : {8, 1024, 2048, 9000, 1, 37, 1027}) {
    const std::vector<float> aligned = found_for<threads>(n, 0, 0);
    EXPECT_EQ(aligned[0], aligned[1]) << n;
    EXPECT_EQ(aligned[2], aligned[3]) << n;
    EXPECT_EQ(found_for<threads>(n, 3, 0), aligned) << n;
    EXPECT_EQ(found_for<threads>(n, 0, 5), aligned) << n;
  }
}

TEST(TeamRows, OfAWarpHaveTheSameBitsWhereverTheyBegin) { expect_same_bits_everywhere<32>(); }
TEST(TeamRows, OfABlockHaveTheSameBitsWhereverTheyBegin) { expect_same_bits_everywhere<256>(); }

}  // namespace
}  // namespace moelab::team_rows_test
