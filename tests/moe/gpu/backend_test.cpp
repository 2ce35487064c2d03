#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "moe/backend/cuda_module.h"
#include "moe/errors.h"
#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::backend_test {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How many numbers keep a device busy for long; a device in software needs fewer.
std::int64_t many(std::int64_t on_a_gpu) { return cuda_is_emulated() ? on_a_gpu >> 9 : on_a_gpu; }

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

TEST_F(CudaBackend, PostsWhatTheHostWritesAgainAtOnce) {
  // More posts than there are pinned buffers, each from the same memory of the host.
  const std::int64_t n = 3 << 20, bytes = 4 * n;
  std::byte* base = backend_->arena(6 * bytes);
  std::vector<float> values(n), all(6 * n);
  for (int part = 0; part < 6; ++part) {
    std::fill(values.begin(), values.end(), static_cast<float>(part));
    backend_->post(base + part * bytes, std::as_bytes(std::span(values)), Stream::copy);
  }
  backend_->wait(Stream::compute, backend_->untimed_mark(Stream::copy));
  backend_->download(std::as_writable_bytes(std::span(all)), base, Stream::compute);
  for (int part = 0; part < 6; ++part) {
    EXPECT_EQ(
        std::count(all.begin() + part * n, all.begin() + (part + 1) * n, static_cast<float>(part)),
        n)
        << part;
  }
}

/// Small posts lie in one pinned buffer, between larger ones and copies to the host, which take one of
/// their own.
TEST_F(CudaBackend, PostsOfAllSizesArriveWhereTheyBelong) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 300; ++i) sizes.push_back(1 + 7 * i + (i % 50 == 0 ? 3 << 20 : 70'000));
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::byte* const base = backend_->arena(total);
  std::vector<std::byte> sent, one, back(static_cast<std::size_t>(total));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto before = static_cast<std::int64_t>(sent.size());
    one.assign(static_cast<std::size_t>(sizes[i]), static_cast<std::byte>(i));
    backend_->post(base + before, one, Stream::compute);
    sent.insert(sent.end(), one.begin(), one.end());
    if (i % 70 == 0) backend_->download(one, base + before, Stream::compute);
  }
  backend_->download(back, base, Stream::compute);
  EXPECT_EQ(back, sent);
}

TEST_F(CudaBackend, KeepsTheArenaWhenItGrows) {
  std::vector<std::byte> data(1000, std::byte{42}), back(1000);
  backend_->post(backend_->arena(4096) + 100, data, Stream::copy);
  backend_->download(back, backend_->arena(64 << 20) + 100, Stream::compute);
  EXPECT_EQ(data, back);
}

TEST_F(CudaBackend, GrowsItsArenaWhereTheDeviceHoldsNotBoth) {
  constexpr std::int64_t kKept = (std::int64_t{9} << 20) + 7;
  std::vector<std::byte> data(kKept), back(kKept);
  for (std::int64_t i = 0; i < kKept; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 4096);
  const std::int64_t free = cuda_free_bytes(0);
  backend_->upload(backend_->arena(free / 10 * 6), data, Stream::compute);
  backend_->keep_of_arena(kKept);
  backend_->download(back, backend_->arena(free / 10 * 8), Stream::compute);
  EXPECT_EQ(data, back);
  EXPECT_THROW(backend_->arena(free * 2), OutOfMemory);
  backend_->download(back, backend_->arena(64), Stream::compute);
  EXPECT_EQ(data, back) << "what cannot grow is left as it was";
}

TEST_F(CudaBackend, FindsTheHighestByteThatDoesNotHoldThePattern) {
  constexpr std::int64_t kBegin = 1000, kEnd = (std::int64_t{1} << 20) + 8;
  for (std::byte* const memory : {backend_->arena(kEnd), backend_->host_block(kEnd)}) {
    backend_->lay_pattern(memory, kBegin, kEnd);
    EXPECT_EQ(backend_->end_of_pattern(memory, kBegin, kEnd), kBegin);
    for (const std::int64_t at : {kBegin, std::int64_t{33768}, std::int64_t{500'001}, kEnd - 1}) {
      std::byte one{};
      if (memory == backend_->arena(1)) {
        backend_->download(std::span(&one, 1), memory + at, Stream::compute);
        one ^= std::byte{1};
        backend_->upload(memory + at, std::span(&one, 1), Stream::compute);
      } else {
        memory[at] ^= std::byte{1};
      }
      EXPECT_EQ(backend_->end_of_pattern(memory, kBegin, kEnd), at + 1);
    }
  }
}

TEST_F(CudaBackend, SaysWhatItPinsBeyondAGibibyte) {
  const auto said = [&](std::int64_t bytes) {
    ::testing::internal::CaptureStdout();
    backend_->host_block(bytes);
    backend_->free_host_blocks();
    return ::testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(said(Backend::kSaidPinnedBytes), "");
  EXPECT_NE(said(Backend::kSaidPinnedBytes + 4096).find("pinned 1.00 GiB of the host's memory"),
            std::string::npos);
}

TEST_F(CudaBackend, SaysWhatAnArenaTooLargeAskedFor) {
  try {
    backend_->arena(std::int64_t{1} << 50);
    FAIL() << "a petabyte was given";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("1024 TiB asked for"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("--memory-limit"), std::string::npos) << error.what();
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
  const double error_s = backend_->time_error_s();
  EXPECT_GT(backend_->time_of(first), before - error_s);
  EXPECT_GT(second_s - backend_->time_of(first), 0.005 - error_s);
  EXPECT_LT(second_s, after + error_s);
}

TEST_F(CudaBackend, WaitsForMarksOfOtherStreams) {
  // The last op of a long queue on one stream makes what another stream then reads: the result is
  // that of the zeros before it unless the wait holds.
  const std::int64_t n = many(1 << 22), bytes = 4 * n;
  std::byte* base = backend_->arena(8 * bytes);
  std::byte* const result_at = base + 3 * bytes;
  std::byte* const busy = base + 4 * bytes;  // of the queue alone
  const auto fill = [&](std::byte* to, float value) {
    const std::vector<float> values(n, value);
    backend_->upload(to, std::as_bytes(std::span(values)), Stream::compute);
  };
  const auto last_result = [&] {
    std::vector<float> result(n);
    backend_->download(std::as_writable_bytes(std::span(result)), result_at, Stream::inter_node);
    return result;
  };
  for (int part = 0; part < 3; ++part) fill(busy + part * bytes, 1.0f);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const float value = static_cast<float>(repeat + 1);
    fill(base, value), fill(base + bytes, value);
    fill(base + 2 * bytes, 0.0f), fill(result_at, 0.0f);
    ASSERT_EQ(last_result(), std::vector<float>(n, 0.0f));  // also warms the other stream up
    for (int i = 0; i < 200; ++i) add(busy, n, Stream::compute);
    add(base, n, Stream::compute);  // y = a + b
    backend_->wait(Stream::inter_node, backend_->mark(Stream::compute));
    add(base + bytes, n, Stream::inter_node);  // b + y
    ASSERT_EQ(last_result(), std::vector<float>(n, 3 * value));
    backend_->forget_marks();
  }
}

TEST_F(CudaBackend, LeavesNoErrorBehindForTheNextKernel) {
  // Waiting asks for work that is not ready yet, which CUDA would remember as an error.
  const std::int64_t n = many(1 << 22);
  std::byte* base = backend_->arena(12 * n);
  backend_->upload(base, std::vector<std::byte>(8 * n), Stream::compute);
  for (int i = 0; i < 20; ++i) {
    for (int op = 0; op < 20; ++op) add(base, n, Stream::compute);
    backend_->time_of(backend_->mark(Stream::compute));
    EXPECT_NO_THROW(add(base, 1, Stream::compute));
  }
}

TEST_F(CudaBackend, EndsAWaitAtItsLimitAndSaysWhatRuns) {
  // Long enough for the waits of its beginning, short beside the work.
  const auto impatient = make_cuda_backend(0, 0.02);
  bool told = false;
  impatient->watch(
      {[] { return std::string("all_reduce of rank 1 with ranks 0, 2"); }, [&] { told = true; }});
  const std::int64_t n = many(1 << 26);
  Op op{Add{}, {}, {}, "add"};
  std::byte* base = impatient->arena(12 * n);
  const View a{base, DType::f32, n, 1}, b{base + 4 * n, DType::f32, n, 1},
      y{base + 8 * n, DType::f32, n, 1};
  impatient->upload(base, std::vector<std::byte>(8 * n), Stream::compute);
  for (int i = 0; i < 500; ++i) impatient->execute({&op, {a, b}, {y}, {{0, n}}});
  try {
    impatient->time_of(impatient->mark(Stream::compute));
    FAIL() << "500 additions of " << n << " floats took 20 milliseconds";
  } catch (const TimeLimit& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 with ranks 0, 2"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(told);
  impatient->watch({});
}

/// tests/gpu counts the devices that the driver lists.
TEST(CudaDevices, AreThereWhereTheDriverListsThem) {
  const char* listed = std::getenv("MOELAB_GPUS_LISTED");
  if (listed == nullptr || std::atoi(listed) == 0) GTEST_SKIP() << "the driver lists no device";
  EXPECT_GT(cuda_device_count(), 0) << "the driver lists " << listed << ", CUDA none";
  EXPECT_NO_THROW(make_cuda_backend(0));
}

TEST(CudaDevices, HaveIdentitiesOfTheirOwn) {
  const std::vector<std::string> ids = cuda_device_ids();
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(cuda_device_count()));
  for (const std::string& id : ids) {
    EXPECT_EQ(id.size(), std::string("GPU-5d5ba0d6-d33d-4b2c-8a1c-0242ac120002").size()) << id;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
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
      for (int i = 0; i < 20; ++i) {
        const auto value = static_cast<float>(20 * s + i + 1);  // none twice
        const std::vector<float> values(n, value);
        backend_->upload(own, std::as_bytes(std::span(values)), stream);
        backend_->upload(own + 4 * n, std::as_bytes(std::span(values)), stream);
        add(own, n, stream);
        const Mark mark = backend_->mark(stream);
        backend_->time_of(mark);
        std::vector<float> result(n);
        backend_->download(std::as_writable_bytes(std::span(result)), own + 8 * n, stream);
        good[s] += result == std::vector<float>(n, 2.0f * value);
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
}  // namespace moe::test::backend_test
