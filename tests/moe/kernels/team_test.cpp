// The kernels' bodies as a device runs them, without a device: each row by a team of threads that
// share the elements among them and see each other's writes only after sync(). Finds steps that
// not all members take alike, results that only one member has, and (in a build with the thread
// sanitizer) a sync() that is missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "moe/kernels/execute.h"
#include "moe/kernels/fill.h"
#include "moe/kernels/residual_norm.h"
#include "moe/kernels/updates.h"
#include "tests/moe/kernels/fill_cases.h"
#include "tests/moe/kernels/kernel_cases.h"
#include "tests/moe/kernels/residual_norm_cases.h"
#include "tests/moe/kernels/update_cases.h"

namespace moe::test::team_test {
namespace {

constexpr int kMembers = 3;

struct Meeting {
  std::barrier<> barrier{kMembers};
  double slots[kMembers] = {};
};

class ThreadTeam {
 public:
  ThreadTeam(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  template <class F>
  void for_each(std::int64_t n, F f) {
    for (std::int64_t i = rank_; i < n; i += kMembers) f(i);
  }
  template <class Out, class F, class... In>
  void map(std::int64_t n, Out* out, F f, const In*... in) {
    for_each(n, [=](std::int64_t i) { out[i] = f(in[i]...); });
  }
  template <class Out, class F, class... T>
  void update(std::int64_t n, Out* out, F f, T*... arrays) {
    for_each(n, [=](std::int64_t i) { out[i] = f(arrays[i]...); });
  }
  template <class T>
  const T* hold(std::int64_t, const T* in) {
    return in;
  }
  template <class Out, class F, class... In>
  const Out* hold(std::int64_t n, Out* out, F f, const In*... in) {
    map(n, out, f, in...);
    return out;
  }
  template <class Stored, class Out, class At>
  void sum_rows(std::int64_t n, Out* out, bool onto, std::int64_t count, const Stored* from,
                std::int64_t stride, At at) {
    for_each(n, [=](std::int64_t c) {
      Wide<Stored> value = onto ? Wide<Stored>(out[c]) : 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto [row, weight] = at(i);
        if (row >= 0) value += weight * from[row * stride + c];
      }
      out[c] = value;
    });
  }
  template <class F, class T, class... In>
  auto sum(std::int64_t n, F f, const T* first, const In*... in) {
    return sum(n, [=](std::int64_t i) { return f(first[i], in[i]...); });
  }
  template <class F, class T>
  auto max(std::int64_t n, F f, const T* in) {
    return max(n, [=](std::int64_t i) { return f(in[i]); });
  }
  template <class F>
  auto sum(std::int64_t n, F f) {
    std::decay_t<decltype(f(std::int64_t{0}))> value{};
    for_each(n, [&](std::int64_t i) { value += f(i); });
    return reduce(value, [](auto a, auto b) { return a + b; });
  }
  template <class F>
  auto max(std::int64_t n, F f) {
    auto value = f(std::int64_t{0});
    for_each(n, [&](std::int64_t i) { value = std::max(value, f(i)); });
    return reduce(value, [](auto a, auto b) { return std::max(a, b); });
  }
  template <class F>
  std::int64_t first(std::int64_t begin, std::int64_t end, F f) {
    for (std::int64_t tile = begin; tile < end; tile += kMembers) {
      const std::int64_t i = tile + rank_;
      const std::int64_t found =
          reduce(i < end && f(i) ? i : end, [](auto a, auto b) { return std::min(a, b); });
      if (found < end) return found;
    }
    return end;
  }
  template <class F, class G>
  auto scan(std::int64_t n, F f, G g) {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value before{};
    for (std::int64_t tile = 0; tile < n; tile += kMembers) {
      const std::int64_t i = tile + rank_;
      const std::vector<Value> all = gather(i < n ? f(i) : Value{});
      Value own = before;
      for (int member = 0; member < kMembers; ++member) {
        if (member == rank_) own = before;
        before += all[member];
      }
      if (i < n) g(i, own);
    }
    return before;
  }
  void sync() { meeting_.barrier.arrive_and_wait(); }
  bool leader() const { return rank_ == 0; }

 private:
  template <class Value>
  std::vector<Value> gather(Value value) {
    static_assert(sizeof(Value) <= sizeof(double));
    std::memcpy(&meeting_.slots[rank_], &value, sizeof(Value));
    sync();
    std::vector<Value> all(kMembers);
    for (int member = 0; member < kMembers; ++member) {
      std::memcpy(&all[member], &meeting_.slots[member], sizeof(Value));
    }
    sync();
    return all;
  }
  template <class Value, class Operation>
  Value reduce(Value value, Operation operation) {
    const std::vector<Value> all = gather(value);
    Value result = all[0];
    for (int member = 1; member < kMembers; ++member) result = operation(result, all[member]);
    return result;
  }

  Meeting& meeting_;
  int rank_;
};

/// All heads in one batch, as on a device; tiles of few scores, so that small cases have several.
class ThreadExec {
 public:
  static constexpr AttentionTile kAttentionTile{5, 10};
  static constexpr std::int64_t kSlotTile = 5;

  void* scratch(std::size_t bytes) {
    scratch_.assign(bytes, std::byte{0xff});
    return scratch_.data();
  }

  template <class F>
  void rows(std::int64_t count, std::int64_t, F f) {
    Meeting meeting;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kMembers; ++rank) {
      threads.emplace_back([&meeting, rank, count, f] {
        ThreadTeam team(meeting, rank);
        for (std::int64_t row = 0; row < count; ++row) f(team, row);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  template <class F>
  void elements(std::int64_t count, F f) {
    for (std::int64_t i = count - 1; i >= 0; --i) f(i);
  }
  template <class Out, class F, class... In>
  void map(std::int64_t count, Out* out, F f, const In*... in) {
    elements(count, [=](std::int64_t i) { out[i] = f(in[i]...); });
  }
  template <class Out, class F, class... In>
  void map_two(std::int64_t count, Out* first, Out* second, F f, const In*... in) {
    elements(count, [=](std::int64_t i) {
      const auto both = f(in[i]...);
      first[i] = both.first;
      second[i] = both.second;
    });
  }
  template <class F, class Real, int count, class... In>
  void column_sums(std::int64_t rows, std::int64_t width, F f, SumTargets<Real, count> targets,
                   const In*... in) {
    for (std::int64_t column = 0; column < width; ++column) {
      for (int which = 0; which < count; ++which) {
        Real sum = 0;
        for (std::int64_t row = 0; row < rows; ++row) {
          sum += term_of(f, row, column, in[row * width + column]...).value[which];
        }
        targets.store(which, column, sum);
      }
    }
  }
  template <class Stored>
  void column_sums_of_groups(const Stored* in, std::span<const RowRange> groups, std::int64_t width,
                             Wide<Stored>* out, bool accumulate) {
    for (const RowRange& group : groups) {
      column_sums(group.rows, width, ElementTerm<Stored>{},
                  SumTargets<Wide<Stored>, 1>{{out}, accumulate}, in + group.begin * width);
      out += width;
    }
  }
  template <class In, class Out>
  void gemm(const Gemm<In, Out>& gemm) {
    using Real = Wide<In>;
    for (std::int64_t batch = 0; batch < gemm.batch; ++batch) {
      const In* a = gemm.a + batch * gemm.stride_a;
      const In* b = gemm.b + batch * gemm.stride_b;
      for (std::int64_t i = 0; i < gemm.m; ++i) {
        for (std::int64_t j = 0; j < gemm.n; ++j) {
          Out& c = gemm.c[batch * gemm.stride_c + i * gemm.ldc + j];
          Real sum = 0;
          if (gemm.bias != nullptr) sum = gemm.bias[j];
          if (gemm.accumulate) sum = c;
          for (std::int64_t k = 0; k < gemm.k; ++k) {
            sum += (gemm.transpose_a ? a[k * gemm.lda + i] : a[i * gemm.lda + k]) *
                   (gemm.transpose_b ? b[j * gemm.ldb + k] : b[k * gemm.ldb + j]);
          }
          c = sum;
        }
      }
    }
  }
  template <class In, class Out>
  void gemms(std::span<const Gemm<In, Out>> gemms) {
    for (const Gemm<In, Out>& one : gemms) gemm(one);
  }
  template <class F>
  void batches(std::int64_t count, F f) {
    f(*this, std::int64_t{0}, count);
  }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    std::copy_n(from, bytes, to);
  }

 private:
  std::vector<std::byte> scratch_;
};

class ThreadBackend : public Backend {
 public:
  std::string name() const override { return "a team of threads per row"; }
  std::byte* arena(std::int64_t bytes) override {
    memory_.resize(static_cast<std::size_t>(bytes) / sizeof(double) + 1);
    return reinterpret_cast<std::byte*>(memory_.data());
  }
  std::byte* host_block(std::int64_t) override { return nullptr; }
  void lay_pattern(std::byte*, std::int64_t, std::int64_t) override {}
  std::int64_t end_of_pattern(const std::byte*, std::int64_t begin, std::int64_t) override {
    return begin;
  }
  void post(std::byte* device, std::span<const std::byte> host, Stream) override {
    std::copy(host.begin(), host.end(), device);
  }
  void download_all(std::span<const HostCopy> copies, Stream) override {
    for (const HostCopy& copy : copies) {
      std::copy_n(copy.device, copy.host.size(), copy.host.data());
    }
  }
  void fill(const View& tensor, const InitialValues& values) override {
    ThreadExec exec;
    fill_any(exec, tensor, values);
  }
  void execute_together(std::span<const BoundOp* const> ops) override {
    ThreadExec exec;
    const bool sum = std::holds_alternative<Add>(ops.front()->op->kind);
    if (ops.size() > 1 && !sum) return execute_updates(exec, ops);
    if (ops.size() == 2 && execute_residual_norm(exec, *ops[0], *ops[1])) return;
    for (const BoundOp* op : ops) execute_op(exec, *op);
  }
  Mark record(Stream, bool) override { return 0; }
  void wait(Stream, Mark) override {}
  double time_of(Mark) override { return 0; }
  void forget_marks() override {}

 private:
  std::vector<double> memory_;
};

TEST(KernelBodies, GiveTheSameToATeamOfThreads) {
  ThreadBackend team;
  const auto serial = make_cpu_backend(1);
  for (const KernelCase& kernel : kernel_cases()) {
    SCOPED_TRACE(kernel.name);
    const auto expected = run_case(*serial, kernel, DType::f64);
    const auto actual = run_case(team, kernel, DType::f64);
    for (std::size_t i = 0; i < results_of(kernel); ++i) {
      EXPECT_LT(relative_difference(actual[i].values, expected[i].values), 1e-13) << "output " << i;
    }
  }
}

TEST(KernelBodies, UpdateManyParametersAtOnceAsEachAlone) {
  ThreadBackend team;
  for (const UpdateCase& update : update_cases()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      EXPECT_EQ(updated(team, update, dtype, true), updated(team, update, dtype, false))
          << update.name << " in " << name_of(dtype);
    }
  }
}

TEST(KernelBodies, MakeASumAndItsNormTogetherAsEachAlone) {
  ThreadBackend team;
  for (const ResidualNormCase& one : residual_norm_cases()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      EXPECT_EQ(residual_normed(team, one, dtype, true), residual_normed(team, one, dtype, false))
          << one.name << " in " << name_of(dtype);
    }
  }
}

TEST(KernelBodies, GiveTheSameInitialValuesToATeamOfThreads) {
  ThreadBackend team;
  for (const FillCase& fill : fill_cases()) {
    EXPECT_EQ(filled(team, fill, DType::f32), expected_values(fill, DType::f32)) << fill.name;
  }
}

TEST(KernelBodies, InBf16AgreeWithDoubleInATeamOfThreads) {
  ThreadBackend team;
  for (const KernelCase& kernel : kernel_cases()) {
    EXPECT_THAT(deviations_in_bf16(team, kernel), ::testing::IsEmpty()) << kernel.name;
  }
}

}  // namespace
}  // namespace moe::test::team_test
