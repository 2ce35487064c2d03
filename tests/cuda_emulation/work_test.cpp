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
#include "moe/kernels/activation.h"
#include "moe/kernels/combine.h"
#include "moe/kernels/embed.h"
#include "moe/kernels/layer_norm.h"
#include "moe/kernels/permute.h"
#include "moe/kernels/residual_norm.h"
#include "moe/kernels/rotary.h"
#include "moe/kernels/select_experts.h"
#include "moe/kernels/updates.h"

namespace moelab::work_test {
namespace {

/// One thread with the loops of a team of `threads`. It counts the steps that each member takes, an
/// element or a pack of elements at a time, and how often its members evaluate what they are given.
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
    count(n, moe::kPackWidth<Out, In...>);
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(in[i]...);
  }
  template <class Out, class F, class... T>
  void update(std::int64_t n, Out* out, F f, T*... arrays) {
    count(n, moe::kPackWidth<Out, T...>);
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(arrays[i]...);
  }
  template <class T>
  const T* hold(std::int64_t n, const T* in) {
    count(n, moe::kPackWidth<T>);
    return in;
  }
  template <class Out, class F, class... In>
  const Out* hold(std::int64_t n, Out* out, F f, const In*... in) {
    map(n, out, f, in...);
    return out;
  }
  template <class F, class T, class... In>
  auto sum(std::int64_t n, F f, const T* first, const In*... in) {
    count(n, moe::kPackWidth<T, In...>);
    std::decay_t<decltype(f(*first, *in...))> value{};
    for (std::int64_t i = 0; i < n; ++i) value += f(first[i], in[i]...);
    return value;
  }
  template <class Stored, class Out, class At>
  void sum_rows(std::int64_t n, Out* out, bool onto, std::int64_t rows, const Stored* from,
                std::int64_t stride, At at) {
    for (std::int64_t first = 0; first < rows; first += At::kAtOnce) {
      count(n, moe::kPackWidth<Stored>);
    }
    for (std::int64_t c = 0; c < n; ++c) {
      moe::Wide<Stored> value = onto ? moe::Wide<Stored>(out[c]) : 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto [row, weight] = at(i);
        if (row >= 0) value += weight * from[row * stride + c];
      }
      out[c] = value;
    }
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
  void count(std::int64_t n, std::int64_t pack = 1) {
    steps += ((n + pack - 1) / pack + threads_ - 1) / threads_;
    evaluations += n;
  }
  std::int64_t threads_;
};

/// Runs one row after the other on CountingTeam: a narrow row on the loops of a warp, any other on
/// those of kBlockThreads, where CudaExec gives rows of kFewLongRows kMostThreads.
class CountingExec {
 public:
  static constexpr std::int64_t kSlotTile = moe::CudaExec::kSlotTile;
  std::int64_t launches = 0, longest = 0, steps = 0, evaluations = 0, most_teams = 0;
  std::int64_t elements_alone = 0;
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
    ++launches;
    elements_alone += count;
    for (std::int64_t i = 0; i < count; ++i) f(i);
  }
  template <class Out, class F, class... In>
  void map(std::int64_t count, Out* out, F f, const In*... in) {
    ++launches;
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(in[i]...);
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
}

TEST(Work, OfTheTokenTablesGradientLooksThroughTheTokensForNoTileOfColumns) {
  const CountingExec narrow = gradient_of_tokens(4096, 64, 8),
                     wide = gradient_of_tokens(4096, 64, 4096);
  const std::int64_t sums = 2 * 64 * (4096 / 64 / 16) * 2;  // tiles, ids, rows 16 at a time, packs
  EXPECT_LE(wide.steps - narrow.steps, sums);
}

TEST(Work, OfATokenThatIsEverywhereIsSharedAmongTheColumns) {
  const CountingExec narrow = gradient_of_tokens(4096, 1, 64),
                     wide = gradient_of_tokens(4096, 1, 4096);
  EXPECT_LE(wide.longest, 2 * narrow.longest) << "two packs of f32 for each thread";
  EXPECT_EQ(wide.most_teams, 2);
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
  EXPECT_EQ(exec.elements_alone, length * width / 2) << "exp, cos and sin in double";
  EXPECT_EQ(exec.longest, 1) << "pairs of all heads 16 bytes at a time";
}

/// Of all copies of `tokens` to as many rows.
struct SentTokens {
  static constexpr std::int64_t kTokens = 3, kWidth = 4096;
  static constexpr int kChoices = 2;
  std::vector<moe::Bf16> rows = std::vector<moe::Bf16>(kTokens * kChoices * kWidth, 1.0f),
                         sums = std::vector<moe::Bf16>(kTokens * kWidth);
  std::vector<std::int32_t> expert = std::vector<std::int32_t>(kTokens * kChoices),
                            slot{0, 1, 2, 3, 4, 5}, offsets{0, 6};
  std::vector<float> weight = std::vector<float>(kTokens * kChoices, 0.5f);
};

TEST(Work, OfTheCopiesOfATokenIsAPackOfAllAtATime) {
  SentTokens all;
  constexpr std::int64_t width = SentTokens::kWidth;
  moe::Op bound_op;
  const auto longest_of = [&](const auto& op, const moe::BoundOp& bound) {
    CountingExec exec;
    moe::launch<moe::Bf16>(exec, op, bound);
    EXPECT_EQ(all.sums, std::vector<moe::Bf16>(all.sums.size(), 1.0f)) << exec.launches;
    return exec.longest;
  };
  constexpr std::int64_t packs = width / 8 / moe::kBlockThreads;
  EXPECT_EQ(longest_of(moe::Combine{SentTokens::kChoices},
                       {&bound_op,
                        {view(all.rows, width), view(all.expert, 2), view(all.weight, 2),
                         view(all.slot, 2), view(all.offsets, 2)},
                        {view(all.sums, width)},
                        {}}),
            packs);
  all.rows.assign(all.rows.size(), 0.5f);
  EXPECT_EQ(longest_of(moe::PermuteGradient{SentTokens::kChoices},
                       {&bound_op,
                        {view(all.rows, width), view(all.expert, 2), view(all.slot, 2),
                         view(all.offsets, 2)},
                        {view(all.sums, width)},
                        {}}),
            packs);
}

TEST(Work, OfANormIsAPackAtATime) {
  constexpr std::int64_t rows = 2, width = 4096;
  std::vector<moe::Bf16> x(rows * width, 1.0f), scale(width, 1.0f), shift(width), y(rows * width);
  std::vector<float> statistics(2 * rows);
  moe::Op bound_op;
  CountingExec exec;
  moe::launch<moe::Bf16>(exec, moe::LayerNorm{},
                         {&bound_op,
                          {view(x, width), view(scale, width), view(shift, width)},
                          {view(y, width), view(statistics, 2)},
                          {}});
  EXPECT_EQ(exec.longest, 4 * width / 8 / moe::kBlockThreads)
      << "a load, two sums of what is held, and a store";
}

TEST(Work, OfAnActivationIsOneLaunchForExpertsWhoseRowsAdjoin) {
  std::vector<float> x(60, 1), y(60);
  moe::Op bound_op;
  CountingExec exec;
  moe::launch<float>(
      exec, moe::Relu{},
      {&bound_op, {view(x, 6)}, {view(y, 6)}, {{0, 2}, {2, 0}, {2, 3}, {7, 0}, {6, 1}, {7, 2}}});
  EXPECT_EQ(exec.launches, 2);
  EXPECT_EQ(std::vector<float>(y.begin() + 28, y.begin() + 38),
            (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(std::count(y.begin(), y.end(), 1), 8 * 6);
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

/// What the blocks of a sum over the rows of a matrix of ones are.
dim3 grid_of_column_sums(std::int64_t rows, std::int64_t width) {
  constexpr int device = 61;  // what the other tests of errors leave is on other devices
  EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
  cudaGetLastError();
  moe::DeviceWaits waits(device, 60);
  const moe::DevicePart whole(device, {});
  moe::DeviceStream stream(waits, moe::Stream::compute, whole);
  stream.make_blas_memory();
  const auto memory_of = [](std::int64_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), cudaSuccess);
    return moe::DeviceMemory(memory);
  };
  const moe::DeviceMemory sums = memory_of(width * 4), matrix = memory_of(rows * width * 2);
  auto* const ones = static_cast<moe::Bf16*>(matrix.get());
  std::fill_n(ones, rows * width, moe::Bf16(1));
  static dim3 grid;
  struct Ones {
    __device__ moe::Sums<float, 1> operator()(std::int64_t, moe::Bf16 one) const {
      grid = gridDim;
      return {{one}};
    }
  };
  moe::CudaExec exec(stream);
  auto* const found = static_cast<float*>(sums.get());
  exec.column_sums(rows, width, Ones{}, moe::SumTargets<float, 1>{{found}, false}, ones);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(std::count(found, found + width, static_cast<float>(rows)), width);
  return grid;
}

TEST(Work, OfColumnSumsIsSharedOutByColumnsAndByRows) {
  const dim3 few = grid_of_column_sums(3, 1024), many = grid_of_column_sums(1500, 136);
  EXPECT_EQ(few.x, 1024U / (8 * 8)) << "8 threads of 8 columns each";
  EXPECT_EQ(few.y, 1U);
  EXPECT_EQ(many.x, 3U);
  EXPECT_EQ(many.y, 3U);
}

TEST(DeviceStream, OfCommunicationGoesFirst) {
  constexpr int device = 61;
  ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
  cudaGetLastError();
  moe::DeviceWaits waits(device, 60);
  const moe::DevicePart whole(device, {});
  const auto priority_of = [&](moe::Stream which) {
    const moe::DeviceStream stream(waits, which, whole);
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
