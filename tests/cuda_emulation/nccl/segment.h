#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/cuda_emulation/nccl/call.h"

/// The memory that the ranks of a communicator share. It has no name: its creator holds it open and
/// the others reach it through the creator's process. So nothing is left of it when the last rank
/// ends, however it ends.
namespace moelab::cuda_emulation::nccl {

inline constexpr int kMostRanks = 64;
inline constexpr std::int64_t kChunkBytes = 128 << 10;
inline constexpr std::int64_t kMailBytes = 32 << 10;

static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

/// A process of this machine; the number of a process that has ended may be given to another one.
struct ProcessId {
  std::int32_t number = 0;
  std::int64_t start = 0;  ///< clock ticks since the machine started

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};
ProcessId this_process();
bool is_alive(const ProcessId& process);

/// How many calls a rank had put on its device through each of its communicators.
struct LaunchCounts {
  struct Entry {
    std::uint64_t communicator;
    std::uint64_t other;  ///< the rank that messages were exchanged with; 0: collectives
    std::int64_t count;
  };
  std::int32_t entries;
  std::array<Entry, 96> entry;
};

/// What a rank tells the others about a call.
struct CallRecord {
  NcclOp op;
  ncclDataType_t type;
  std::int64_t count;
  std::int32_t peer;
  std::int64_t collectives;  ///< that the rank had issued on this communicator before
  LaunchCounts launched;     ///< on its device, before this call
};

enum class Stage : std::int32_t { absent, here, finalizing, aborted };

/// Where the memory of a new communicator is.
struct SegmentPlace {
  ProcessId process;
  std::int32_t file = -1;  ///< number of the open file in that process
  std::uint64_t name = 0;  ///< a random number, to know it by
};

/// What a rank says of itself. Everything is written by that rank alone.
struct alignas(64) RankState {
  std::atomic<std::int32_t> claimed;  ///< 1: a rank has taken this place
  std::atomic<Stage> stage;
  ProcessId process;
  std::uint64_t identity;  ///< of the rank's device in its process, the same in all communicators
  std::array<char, 16> device_uuid;
  std::atomic<std::int64_t> heartbeat;  ///< counts its looks at the others while it waits

  std::atomic<std::int64_t> arrived;  ///< collectives that it has come to
  std::array<CallRecord, 2> record;   ///< of collectives, by turns
  std::atomic<std::int64_t> phase;    ///< chunks that it has filled
  alignas(64) std::array<std::array<std::byte, kChunkBytes>, 2> chunk;

  struct Split {
    std::int32_t color, key;
    SegmentPlace place;  ///< of the new communicator, from its first rank
    std::atomic<std::int64_t> placed;
  };
  std::atomic<std::int64_t> splits;
  std::array<Split, 2> split;  ///< by turns
};

/// Messages from one rank to another.
struct alignas(64) Mailbox {
  std::atomic<std::int64_t> sends, receives;  ///< messages that either side has come to
  std::array<CallRecord, 2> sent, received;   ///< by turns
  std::atomic<std::int64_t> written, read;    ///< bytes of all messages
  alignas(64) std::array<std::byte, kMailBytes> ring;
};

struct Verdict {
  std::atomic<std::int32_t> state;  ///< 0: none, 1: being written, 2: written
  ncclResult_t code;
  std::array<char, 2048> text;
};

struct SegmentHeader {
  std::uint64_t name;
  std::atomic<std::int32_t> ranks;  ///< 0: the first to come says how many
  Verdict verdict;
};

/// The shared memory of one communicator, mapped.
class Segment {
 public:
  /// Makes the memory of a communicator. This process holds it open until release().
  static SegmentPlace make();
  /// Closes what make() opened, if this process did.
  static void release(const SegmentPlace& place);

  Segment() = default;
  /// Throws std::runtime_error where the memory is gone or was made for another number of ranks.
  Segment(const SegmentPlace& place, int ranks);
  ~Segment();
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;

  SegmentHeader& header() const;
  RankState& rank(int rank) const;
  Mailbox& mail(int from, int to) const;

  /// Makes this the reason why the communicator has failed, unless there is one.
  void judge(ncclResult_t code, const std::string& text) const;
  /// False where the communicator has not failed.
  bool judged(ncclResult_t& code, std::string& text) const;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int ranks_ = 0;
};

}  // namespace moelab::cuda_emulation::nccl
