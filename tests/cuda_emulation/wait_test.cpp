// How the product waits for a device: it spins at first, sleeps longer the longer it has waited,
// and leaves no error behind.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "moe/backend/cuda_wait.cuh"
#include "tests/cuda_emulation/stream.h"

namespace moelab::wait_test {
namespace {

using moe::DeviceWaits;
using moe::pause_s;
using moe::spin_s;

TEST(DeviceWait, SpinsForAStepWhereThreeCoresOfFourAreLeft) {
  EXPECT_DOUBLE_EQ(spin_s(1, 4), 50e-3);
  EXPECT_DOUBLE_EQ(spin_s(4, 16), 50e-3);
  EXPECT_DOUBLE_EQ(spin_s(5, 16), 30e-6);
  EXPECT_DOUBLE_EQ(spin_s(1, 2), 30e-6);
  EXPECT_EQ(spin_s(1, 1), 0) << "the core is another thread's";
  EXPECT_EQ(pause_s(49e-3, spin_s(1, 4)), 0);
  EXPECT_EQ(pause_s(29e-6, spin_s(1, 2)), 0);
}

TEST(DeviceWait, SleepsThenForASixteenthOfTheTimeWaited) {
  EXPECT_DOUBLE_EQ(pause_s(0, 0), 20e-6);
  EXPECT_DOUBLE_EQ(pause_s(31e-6, 30e-6), 20e-6);
  EXPECT_DOUBLE_EQ(pause_s(3.2e-3, 30e-6), 200e-6);
  EXPECT_DOUBLE_EQ(pause_s(10, 50e-3), 500e-6) << "a device that is done is not left waiting";
}

/// What the other tests of errors leave is on other devices.
constexpr int kDevice = 62;

TEST(DeviceWait, EndsAtItsLimitByNameAndLeavesNoError) {
  ASSERT_EQ(cudaSetDevice(kDevice), cudaSuccess);
  cudaGetLastError();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const moe::OwnedStream owned(stream);
  cuda_emulation::enqueue(stream, "a pause",
                          [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  const moe::OwnedEvent event = moe::make_event(cudaEventDisableTiming);
  ASSERT_EQ(cudaEventRecord(event.get(), stream), cudaSuccess);

  DeviceWaits impatient(kDevice, 0.02);
  bool aborted = false;
  impatient.watch({[] { return std::string("all_reduce of rank 1"); }, [&] { aborted = true; }});
  try {
    impatient.until(event.get(), "a copy to the host");
    FAIL() << "the limit is passed over";
  } catch (const moe::TimeLimit& limit) {
    const std::string why = limit.what();
    EXPECT_NE(why.find("a copy to the host of CUDA device 62"), std::string::npos) << why;
    EXPECT_NE(why.find("all_reduce of rank 1"), std::string::npos) << why;
  }
  EXPECT_TRUE(aborted);
  EXPECT_TRUE(impatient.expired());

  DeviceWaits patient(kDevice, 60);
  patient.until(event.get(), "a copy to the host");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "\"not ready\" would be the next launch's error";
}

}  // namespace
}  // namespace moelab::wait_test
