#include "microbench/bench.h"

#include <gtest/gtest.h>

#include <chrono>

namespace microbench::bench_test {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A device that says when it was done; whoever waits for it learns of that later.
class Clocked : public moe::Backend {
 public:
  explicit Clocked(double done_s) : done_s_(done_s) {}
  std::string name() const override { return "clocked"; }
  std::byte* arena(std::int64_t) override { return nullptr; }
  std::byte* host_block(std::int64_t) override { return nullptr; }
  void lay_pattern(std::byte*, std::int64_t, std::int64_t) override {}
  std::int64_t end_of_pattern(const std::byte*, std::int64_t begin, std::int64_t) override {
    return begin;
  }
  void post(std::byte*, std::span<const std::byte>, moe::Stream) override {}
  void download_all(std::span<const moe::HostCopy>, moe::Stream) override {}
  void fill(const moe::View&, const moe::InitialValues&) override {}
  void execute_together(std::span<const moe::BoundOp* const>) override {}
  moe::Mark record(moe::Stream, bool) override { return 0; }
  void wait(moe::Stream, moe::Mark) override {}
  double time_of(moe::Mark) override { return done_s_; }
  void forget_marks() override {}

 private:
  double done_s_;
};

TEST(TimedOnDevice, EndsWhenTheDeviceWasDoneAndNotWhenTheHostHeardOfIt) {
  const double before_s = now_s();
  Clocked backend(before_s + 1000);
  int calls = 0;
  const double took_s = timed_on_device(backend, moe::Stream::compute, 3, [&] { ++calls; });
  EXPECT_EQ(calls, 3);
  EXPECT_LE(took_s, 1000);
  EXPECT_GE(took_s, before_s + 1000 - now_s());
}

}  // namespace
}  // namespace microbench::bench_test
