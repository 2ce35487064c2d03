#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

namespace moe::test {

/// A communicator of a device for buffers of the host: what a call reads goes up, what it writes
/// comes down.
class ThroughDevice final : public Communicator {
 public:
  static constexpr std::int64_t kBytes = 8 << 20;  ///< of the largest input, and of the output

  /// `memory` is 2 kBytes of the device.
  ThroughDevice(std::unique_ptr<Communicator> device, Backend& backend, std::byte* memory)
      : Communicator(device->rank, device->size),
        device_(std::move(device)),
        backend_(backend),
        memory_(memory) {}

  void run(const collective::Call& what, const CallContext& given) override {
    CallContext call = given;
    call.stream = Stream::inter_node;
    call.native_stream = backend_.native_stream(call.stream);
    collective::dispatch(what, size, [&](const auto& one) { carry_out(one, call); });
    sent_bytes_ = device_->sent_bytes();
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    return std::make_unique<ThroughDevice>(device_->split(ranks), backend_, memory_);
  }

 private:
  std::byte* up(const void* host, std::int64_t bytes, std::byte* to) {
    EXPECT_LE(bytes, kBytes);
    if (bytes > 0) backend_.upload(to, bytes_at(host, bytes), Stream::inter_node);
    return to;
  }
  void down(const std::byte* from, void* host, std::int64_t bytes) {
    if (bytes == 0) return;
    const std::span to(static_cast<std::byte*>(host), static_cast<std::size_t>(bytes));
    backend_.download(to, from, Stream::inter_node);
  }
  static std::span<const std::byte> bytes_at(const void* host, std::int64_t bytes) {
    return {static_cast<const std::byte*>(host), static_cast<std::size_t>(bytes)};
  }

  void carry_out(const collective::Barrier& c, const CallContext& call) { device_->run(c, call); }

  void carry_out(const collective::AllToAllV& c, const CallContext& call) {
    const auto extent = [&](std::span<const Segment> segments) {
      std::int64_t rows = 0;
      for (const Segment& one : segments) rows = std::max(rows, one.begin + one.rows);
      return rows * c.row_bytes;
    };
    collective::AllToAllV there = c;
    there.from = up(c.from, extent(c.send), memory_);
    there.to = up(c.to, extent(c.receive), memory_ + kBytes);
    device_->run(there, call);
    down(there.to, c.to, extent(c.receive));
  }

  void carry_out(const collective::ChainBroadcast& c, const CallContext& call) {
    in_place(c, c.chains, call);
  }
  void carry_out(const collective::ChainReduce& c, const CallContext& call) {
    in_place(c, c.chains, call);
  }
  void carry_out(const collective::ReduceShares& c, const CallContext& call) {
    in_place(c, c.arrays, call);
  }
  void carry_out(const collective::GatherShares& c, const CallContext& call) {
    in_place(c, c.arrays, call);
  }

  /// A call on ranges of its data.
  template <typename RangeCall, typename Ranges>
  void in_place(const RangeCall& c, const Ranges& ranges, const CallContext& call) {
    std::int64_t elements = 0;
    for (const auto& one : ranges) elements = std::max(elements, one.begin + one.count);
    RangeCall there = c;
    there.data = up(c.data, elements * bytes_of(c.dtype), memory_);
    device_->run(there, call);
    down(there.data, c.data, elements * bytes_of(c.dtype));
  }

  template <typename ArrayCall>
  void carry_out(const ArrayCall& c, const CallContext& call) {
    ArrayCall there = c;
    std::byte* const to = c.from == c.to ? memory_ : memory_ + kBytes;
    there.from = up(c.from, c.read_count(rank, size) * bytes_of(c.dtype), memory_);
    there.to = to;
    device_->run(there, call);
    down(to, c.to, c.written_count(rank, size) * bytes_of(c.dtype));
  }

  std::unique_ptr<Communicator> device_;
  Backend& backend_;
  std::byte* memory_;
};

}  // namespace moe::test
