#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/errors.h"
#include "moe/stop.h"

namespace moe::cpu_test {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(CpuBackend, KeepsTheArenaWhenItGrows) {
  const auto backend = make_cpu_backend(1);
  std::array<std::byte, 100> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  std::byte* small = backend->arena(1000);
  backend->upload(small + 500, data, Stream::copy);
  EXPECT_EQ(backend->arena(900), small);
  std::byte* large = backend->arena(std::int64_t{1} << 30);
  std::array<std::byte, 100> back{};
  backend->download(back, large + 500, Stream::compute);
  EXPECT_EQ(back, data);
}

TEST(CpuBackend, SaysWhatAnArenaTooLargeAskedFor) {
  const auto backend = make_cpu_backend(1);
  try {
    backend->arena(std::int64_t{1} << 60);
    FAIL() << "an exabyte was given";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("1048576 TiB of address space"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("--memory-limit"), std::string::npos) << error.what();
  }
}

TEST(CpuBackend, CopiesBetweenItsArenasAsSlowlyAsAsked) {
  constexpr std::int64_t kRows = 100, kBytes = kRows * 4;
  const auto backend = make_cpu_backend(1, Waiting::asleep, kBytes / 0.02);
  const std::vector<float> values(kRows, 3.5f);
  std::byte* device = backend->arena(kBytes);
  std::byte* host = backend->host_block(kBytes);
  backend->upload(device, std::as_bytes(std::span(values)), Stream::compute);
  const Op op{OffloadRows{}, {}, {}, "offload"};
  const double before = now_s();
  backend->execute(
      {&op, {{device, DType::f32, kRows, 1}}, {{host, DType::f32, kRows, 1}}, {{0, 40}, {40, 60}}});
  EXPECT_GE(now_s() - before, 0.02);
  EXPECT_EQ(std::memcmp(host, values.data(), kBytes), 0);
}

TEST(CpuBackend, WaitsForNoSlowCopyOnceItIsToEnd) {
  const auto seconds_of_a_copy_of_an_hour = [] {
    constexpr std::int64_t kBytes = 4;
    const auto backend = make_cpu_backend(1, Waiting::asleep, kBytes / 3600.0);
    std::byte *device = backend->arena(kBytes), *host = backend->host_block(kBytes);
    const Op op{OffloadRows{}, {}, {}, "offload"};
    const double before = now_s();
    backend->execute({&op, {{device, DType::f32, 1, 1}}, {{host, DType::f32, 1, 1}}, {{0, 1}}});
    return now_s() - before;
  };
  EXPECT_EXIT(
      {
        stop_when_asked();
        std::thread asks([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          kill(getpid(), SIGTERM);
        });
        const double seconds = seconds_of_a_copy_of_an_hour();
        asks.join();
        std::exit(seconds < 600 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CpuBackend, TimesMarksByTheSteadyClock) {
  const auto backend = make_cpu_backend(1);
  const double before = now_s();
  const Mark first = backend->mark(Stream::compute);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const Mark second = backend->mark(Stream::inter_node);
  const double after = now_s();
  backend->wait(Stream::compute, second);
  EXPECT_LE(before, backend->time_of(first));
  EXPECT_GE(backend->time_of(second), backend->time_of(first) + 0.002);
  EXPECT_LE(backend->time_of(second), after);
}

TEST(CpuBackend, NumbersMarksAfreshOnceForgotten) {
  const auto backend = make_cpu_backend(1);
  const Mark first = backend->mark(Stream::compute);
  backend->forget_marks();
  EXPECT_EQ(backend->mark(Stream::copy), first);
}

TEST(CpuBackend, RefusesToRunOnNoThreads) {
  EXPECT_THROW(make_cpu_backend(0), std::invalid_argument);
}

TEST(CudaBackend, SaysWhyThereIsNone) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_EQ(cuda_device_name(0), "");
  try {
    make_cuda_backend(0);
    FAIL() << "a backend without a device";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("CUDA"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace moe::cpu_test
