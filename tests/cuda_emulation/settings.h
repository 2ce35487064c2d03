#pragma once

#include <cstddef>
#include <cstdint>

namespace moelab::cuda_emulation {

/// What the environment says of the device in software.
struct Settings {
  std::uint64_t seed = 0;                   ///< MOELAB_EMULATED_SEED
  int devices = 4;                          ///< MOELAB_EMULATED_DEVICES: of this machine
  std::size_t memory_bytes = 4ull << 30;    ///< MOELAB_EMULATED_MEMORY: of each device
  bool report = false;                      ///< MOELAB_EMULATED_REPORT=1 (report.h)
  std::uint64_t fastest_product = 0;        ///< MOELAB_EMULATED_FASTEST_PRODUCT (cublasLt.h)
  std::int64_t failing_allocation = 0;      ///< MOELAB_EMULATED_FAULT=allocation:3; 0: none
  std::int64_t failing_kernel = 0;          ///< MOELAB_EMULATED_FAULT=kernel:3
  std::int64_t lost_copy = 0;               ///< MOELAB_EMULATED_FAULT=copy:3, the third to a device
  std::int64_t event_that_never_comes = 0;  ///< MOELAB_EMULATED_FAULT=event:3, the third record
};

/// Read once. Throws std::invalid_argument where a variable is not what it must be.
const Settings& settings();

/// In which order blocks, threads and streams are taken.
enum class Order { first_to_last, last_to_first, drawn };
Order order();

/// A stream of numbers that only its start decides (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t start) : state_(start) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// One of 0 .. count - 1.
  std::uint64_t below(std::uint64_t count) { return next() % count; }

 private:
  std::uint64_t state_;
};

}  // namespace moelab::cuda_emulation
