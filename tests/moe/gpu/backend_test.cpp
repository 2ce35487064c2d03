#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "moe/errors.h"
#include "tests/moe/kernels/kernel_cases.h"

namespace moe::testing {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class CudaBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    backend_ = make_cuda_backend(0);
  }

  /// y = a + b over n floats at `base`: a, b, y one after the other.
  void add(std::byte* base, std::int64_t n, Stream stream) {
    Op op{Add{}, {}, {}, "add"};
    op.stream = stream;
    const View a{base, DType::f32, n, 1}, b{base + 4 * n, DType::f32, n, 1},
        y{base + 8 * n, DType::f32, n, 1};
    backend_->execute({&op, {a, b}, {y}, {{0, n}}});
  }

  std::unique_ptr<Backend> backend_;
};

TEST_F(CudaBackend, NamesTheDevice) { EXPECT_FALSE(cuda_device_name(0).empty()); }

TEST_F(CudaBackend, CopiesMoreThanItsStagingHolds) {
  const std::int64_t bytes = (std::int64_t{40} << 20) + 12345;
  std::vector<std::byte> data(bytes), back(bytes);
  for (std::int64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 4096);
  std::byte* base = backend_->arena(bytes);
  backend_->upload(base, data, Stream::copy);
  backend_->download(back, base, Stream::compute);
  EXPECT_EQ(data, back);
}

TEST_F(CudaBackend, KeepsTheArenaWhenItGrows) {
  std::vector<std::byte> data(1000, std::byte{42}), back(1000);
  backend_->upload(backend_->arena(4096) + 100, data, Stream::compute);
  backend_->download(back, backend_->arena(64 << 20) + 100, Stream::copy);
  EXPECT_EQ(data, back);
}

TEST_F(CudaBackend, SaysWhatAnArenaTooLargeAskedFor) {
  try {
    backend_->arena(std::int64_t{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("1125899906842624"), std::string::npos)
        << error.what();
  }
  // The device is still good.
  std::vector<std::byte> data(16, std::byte{1}), back(16);
  backend_->upload(backend_->arena(64), data, Stream::compute);
  backend_->download(back, backend_->arena(64), Stream::compute);
  EXPECT_EQ(data, back);
}

TEST_F(CudaBackend, TimesMarksByTheSteadyClock) {
  const double before = now_s();
  const Mark first = backend_->mark(Stream::compute);
  backend_->time_of(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Mark second = backend_->mark(Stream::inter_node);
  const double second_s = backend_->time_of(second);
  const double after = now_s();
  EXPECT_GT(backend_->time_of(first), before - 2e-4);
  EXPECT_GT(second_s, backend_->time_of(first) + 0.004);
  EXPECT_LT(second_s, after + 2e-4);
}

TEST_F(CudaBackend, WaitsForMarksOfOtherStreams) {
  // A long chain on one stream, its result used on another one: wrong unless the wait holds.
  const std::int64_t n = 1 << 22;
  std::byte* base = backend_->arena(20 * n);
  const std::vector<float> ones(n, 1.0f), zeros(n, 0.0f);
  for (int repeat = 0; repeat < 5; ++repeat) {
    backend_->upload(base, std::as_bytes(std::span(ones)), Stream::compute);
    backend_->upload(base + 4 * n, std::as_bytes(std::span(ones)), Stream::compute);
    backend_->upload(base + 8 * n, std::as_bytes(std::span(zeros)), Stream::compute);
    for (int i = 0; i < 50; ++i) add(base, n, Stream::compute);
    const Mark done = backend_->mark(Stream::compute);
    backend_->wait(Stream::inter_node, done);
    add(base + 4 * n, n, Stream::inter_node);  // b + y
    std::vector<float> result(n);
    backend_->download(std::as_writable_bytes(std::span(result)), base + 12 * n,
                       Stream::inter_node);
    ASSERT_EQ(result, std::vector<float>(n, 3.0f));
    backend_->forget_marks();
  }
}

TEST_F(CudaBackend, DrivesStreamsFromSeveralThreads) {
  const std::int64_t n = 100000;
  std::byte* base = backend_->arena(5 * 12 * n);
  std::vector<std::thread> threads;
  std::vector<int> good(kStreamCount, 0);
  for (int s = 0; s < kStreamCount; ++s) {
    threads.emplace_back([&, s] {
      const auto stream = static_cast<Stream>(s);
      std::byte* own = base + s * 12 * n;
      const std::vector<float> values(n, static_cast<float>(s + 1));
      for (int i = 0; i < 20; ++i) {
        backend_->upload(own, std::as_bytes(std::span(values)), stream);
        backend_->upload(own + 4 * n, std::as_bytes(std::span(values)), stream);
        add(own, n, stream);
        const Mark mark = backend_->mark(stream);
        backend_->time_of(mark);
        std::vector<float> result(n);
        backend_->download(std::as_writable_bytes(std::span(result)), own + 8 * n, stream);
        good[s] += result == std::vector<float>(n, 2.0f * static_cast<float>(s + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(kStreamCount, 20));
}

TEST_F(CudaBackend, RefusesADeviceThatIsNotThere) {
  EXPECT_THROW(make_cuda_backend(cuda_device_count()), Unavailable);
  EXPECT_THROW(make_cuda_backend(-1), Unavailable);
}

}  // namespace
}  // namespace moe::testing
