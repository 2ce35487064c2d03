// How bodies of kernels divide their work among the teams of a device: how many steps its busiest
// team takes and how many all take, with the teams and tiles of the product.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/embed.h"
#include "moe/kernels/rotary.h"
#include "moe/kernels/select_experts.h"
#include "moe/kernels/updates.h"

namespace moelab::work_test {
namespace {

/// One thread with the loops of a team of `threads`. It counts the steps that each takes, and how
/// often its members evaluate what they are given.
class CountingTeam {
 public:
  explicit CountingTeam(std::int64_t threads) : threads_(threads) {}
  std::int64_t steps = 0, evaluations = 0, largest_scan = 0;

  template <class F>
  void for_each(std::int64_t n, F f) {
    count(n);
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  template <class Out, class F, class... In>
  void map(std::int64_t n, Out* out, F f, const In*... in) {
    for_each(n, [=](std::int64_t i) { out[i] = f(in[i]...); });
  }
  template <class Out, class F, class... T>
  void update(std::int64_t n, Out* out, F f, T*... arrays) {
    for_each(n, [=](std::int64_t i) { out[i] = f(arrays[i]...); });
  }
  template <class F>
  auto sum(std::int64_t n, F f) {
    std::decay_t<decltype(f(std::int64_t{0}))> value{};
    for_each(n, [&](std::int64_t i) { value += f(i); });
    return value;
  }
  template <class F>
  auto max(std::int64_t n, F f) {
    auto value = f(std::int64_t{0});
    for_each(n, [&](std::int64_t i) { value = std::max(value, f(i)); });
    return value;
  }
  template <class F>
  std::int64_t first(std::int64_t begin, std::int64_t end, F f) {
    std::int64_t i = begin;
    while (i < end && !f(i)) ++i;
    count(std::min(end, i + 1) - begin);
    return i;
  }
  template <class F, class G>
  auto scan(std::int64_t n, F f, G g) {
    count(n);
    largest_scan = std::max(largest_scan, n);
    std::decay_t<decltype(f(std::int64_t{0}))> before{};
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = f(i);
      g(i, before);
      before += value;
    }
    return before;
  }
  void sync() {}
  bool leader() const { return true; }

 private:
  void count(std::int64_t n) {
    steps += (n + threads_ - 1) / threads_;
    evaluations += n;
  }
  std::int64_t threads_;
};

/// Runs one row after the other on CountingTeam: a narrow row on the loops of a warp, any other on
/// those of kBlockThreads, where CudaExec gives rows of kFewLongRows kMostThreads.
class CountingExec {
 public:
  static constexpr moe::TokenTableTile kTokenTableTile = moe::CudaExec::kTokenTableTile;
  static constexpr std::int64_t kSlotTile = moe::CudaExec::kSlotTile;
  std::int64_t launches = 0, longest = 0, steps = 0, evaluations = 0, most_teams = 0;
  std::vector<std::int64_t> scans;  ///< the largest of each launch

  template <class F>
  void rows(std::int64_t count, std::int64_t width, F f) {
    ++launches;
    most_teams = std::max(most_teams, count);
    const bool wide = requires { F::kWideRows; }
    || width > moe::kWarpWidth;
    std::int64_t largest_scan = 0;
    for (std::int64_t row = 0; row < count; ++row) {
      CountingTeam team(wide ? moe::kBlockThreads : 32);
      f(team, row);
      longest = std::max(longest, team.steps);
      steps += team.steps;
      evaluations += team.evaluations;
      largest_scan = std::max(largest_scan, team.largest_scan);
    }
    scans.push_back(largest_scan);
  }
  template <class F>
  void elements(std::int64_t count, F f) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
  }
  void* scratch(std::size_t bytes) {
    scratch_.resize(bytes);
    return bytes <= moe::DeviceStream::kWorkspaceBytes ? scratch_.data() : nullptr;
  }

 private:
  std::vector<std::byte> scratch_;
};

template <class T>
moe::View view(std::vector<T>& values, std::int64_t columns) {
  return {values.data(), moe::dtype_of<T>(), static_cast<std::int64_t>(values.size()) / columns,
          columns};
}

/// The ids of the tokens are 0 to `ids` - 1 in turn; the table has a row for each.
CountingExec gradient_of_tokens(std::int64_t tokens, std::int64_t ids, std::int64_t width) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
  for (std::int64_t i = 0; i < tokens; ++i) {
    all[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % ids);
  }
  std::vector<float> dx(static_cast<std::size_t>(tokens * width), 1);
  std::vector<float> table(static_cast<std::size_t>(ids * width));
  const moe::EmbedTokensGradient op{};
  moe::Op bound_op;
  bound_op.kind = op;
  CountingExec exec;
  moe::launch<float>(exec, op,
                     {&bound_op, {view(all, 1), view(dx, width)}, {view(table, width)}, {}});
  EXPECT_EQ(table, std::vector<float>(table.size(), static_cast<float>(tokens / ids)));
  return exec;
}

TEST(Work, OfTheTokenTablesGradientGrowsWithTheTokensAndNotWithTheirSquare) {
  const CountingExec few = gradient_of_tokens(4096, 4096, 8),
                     many = gradient_of_tokens(16384, 16384, 8);
  EXPECT_LT(many.steps, 5 * few.steps);
  EXPECT_LT(many.longest, 5 * few.longest);
  EXPECT_EQ(many.most_teams, 512) << "enough for the threads of a device";
}

TEST(Work, OfATokenThatIsEverywhereIsSharedAmongTheColumns) {
  const CountingExec narrow = gradient_of_tokens(4096, 1, 64),
                     wide = gradient_of_tokens(4096, 1, 4096);
  EXPECT_EQ(wide.longest, narrow.longest);
  EXPECT_EQ(wide.most_teams, 64);
}

/// Tokens choose two of `experts` in turn.
CountingExec selection(std::int64_t tokens, int experts) {
  const std::size_t rows = static_cast<std::size_t>(tokens), choices = 2;
  std::vector<float> rankings(rows * static_cast<std::size_t>(experts)), weights(rows * choices);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    rankings[i] = static_cast<float>(i * 7 % static_cast<std::size_t>(experts));
  }
  std::vector<std::int32_t> chosen(rows * choices), slots(rows * choices),
      offsets(static_cast<std::size_t>(experts) + 1), demand(static_cast<std::size_t>(experts)),
      used(demand.size());
  const moe::SelectExperts op{.experts = experts, .choices = 2};
  moe::Op bound_op;
  bound_op.kind = op;
  CountingExec exec;
  moe::launch<float>(exec, op,
                     {&bound_op,
                      {view(rankings, experts), view(rankings, experts)},
                      {view(chosen, 2), view(weights, 2), view(slots, 2),
                       view(offsets, experts + 1), view(demand, experts), view(used, experts)},
                      {}});
  EXPECT_EQ(offsets.back(), 2 * tokens);
  return exec;
}

TEST(Work, OfGivingSlotsIsSharedByMoreTeamsWhereThereAreMoreTokens) {
  constexpr int experts = 8;
  const CountingExec few = selection(4096, experts), many = selection(16384, experts);
  EXPECT_LE(many.longest, few.longest) << "more tokens are more teams";
}

TEST(Work, OfSummingOffsetsUpIsOneScanOverAllExperts) {
  constexpr int experts = 600;
  const CountingExec exec = selection(16, experts);
  EXPECT_EQ(exec.scans.back(), experts) << "the last launch sums the counts of experts up";
}

TEST(Work, OfRotationIsOneAngleForAllHeadsOfSeveralSequences) {
  constexpr std::int64_t length = 32, sequences = 8, width = 16;
  constexpr int heads = 4;
  std::vector<float> qkv(length * sequences * 3 * heads * width, 1);
  const moe::RotaryGradient op{.heads = heads, .sequence_length = length};
  moe::Op bound_op;
  bound_op.kind = op;
  CountingExec exec;
  moe::launch<float>(
      exec, op, {&bound_op, {view(qkv, 3 * heads * width)}, {view(qkv, 3 * heads * width)}, {}});
  constexpr std::int64_t groups = 2;  // four sequences share their angles
  EXPECT_EQ(exec.evaluations, groups * length * width / 2) << "exp, cos and sin in double";
}

TEST(Work, OfAdamHasTwoPowersForABlockAndNotForEachElement) {
  constexpr std::int64_t elements = 100'000;
  std::vector<float> gradient(elements), parameter(elements), first(elements), second(elements);
  std::vector<std::int32_t> step{1};
  const moe::AdamStep op{};
  moe::Op bound_op;
  bound_op.kind = op;
  const moe::BoundOp bound{
      &bound_op,
      {view(gradient, 1), view(step, 1), view(parameter, 1), view(first, 1), view(second, 1)},
      {view(parameter, 1), view(first, 1), view(second, 1)},
      {}};
  const moe::BoundOp* const all[] = {&bound};
  CountingExec exec;
  moe::execute_updates(exec, std::span<const moe::BoundOp* const>(all));
  EXPECT_EQ(exec.evaluations - elements, 3 * exec.most_teams) << "what is in double";
  EXPECT_LT(exec.most_teams, elements / 1000);
}

/// What the blocks of a sum over the rows of a matrix of this width are.
dim3 grid_of_column_sums(std::int64_t width) {
  constexpr int device = 61;  // what the other tests of errors leave is on other devices
  EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
  cudaGetLastError();
  moe::DeviceWaits waits(device, 60);
  moe::DeviceStream stream(waits, moe::Stream::compute);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(width) * sizeof(float)), cudaSuccess);
  const moe::DeviceMemory sums(memory);
  static dim3 grid;
  struct Ones {
    __device__ moe::Sums<float, 1> operator()(std::int64_t, std::int64_t) const {
      grid = gridDim;
      return {{1}};
    }
  };
  moe::CudaExec exec(stream);
  exec.column_sums(3, width, Ones{},
                   moe::SumTargets<float, 1>{{static_cast<float*>(memory)}, false});
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(static_cast<float*>(memory)[width - 1], 3);
  return grid;
}

TEST(Work, OfColumnSumsOccupiesMoreBlocksWhereAMatrixIsNarrow) {
  EXPECT_EQ(grid_of_column_sums(1024).x, 1024U / 8);
  EXPECT_EQ(grid_of_column_sums(4096).x, 4096U / 32);
}

TEST(DeviceStream, OfCommunicationGoesFirst) {
  constexpr int device = 61;
  ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
  cudaGetLastError();
  moe::DeviceWaits waits(device, 60);
  const auto priority_of = [&](moe::Stream which) {
    const moe::DeviceStream stream(waits, which);
    int priority = 1;
    EXPECT_EQ(cudaStreamGetPriority(stream.get(), &priority), cudaSuccess);
    return priority;
  };
  int least = 0, greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_LT(greatest, least) << "lower numbers go first";
  for (const moe::Stream stream : {moe::Stream::inter_node, moe::Stream::intra_node}) {
    EXPECT_EQ(priority_of(stream), greatest);
  }
  for (const moe::Stream stream : {moe::Stream::compute, moe::Stream::copy, moe::Stream::host}) {
    EXPECT_EQ(priority_of(stream), least);
  }
}

}  // namespace
}  // namespace moelab::work_test
