#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

/// A host communicator for buffers of a device: down to host memory, through, and up again, in the
/// order of CallContext::stream. The backend's copies go through memory that it has pinned.
namespace moe {
namespace {

class StagedCommunicator : public Communicator {
 public:
  StagedCommunicator(std::unique_ptr<Communicator> host, Backend& backend)
      : Communicator(host->rank, host->size), host_(std::move(host)), backend_(backend) {}

  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) override {
    const Packed out = pack(send), in = pack(receive);
    const std::span<std::byte> sent = room(sent_, out.rows * row_bytes);
    const std::span<std::byte> received = room(received_, in.rows * row_bytes);
    for (const Run& run : out.runs) {
      backend_.download(sent.subspan(run.packed * row_bytes, run.rows * row_bytes),
                        from + run.begin * row_bytes, call.stream);
    }
    host_->all_to_all_v(sent.data(), out.segments, received.data(), in.segments, row_bytes, call);
    sent_bytes_ = host_->sent_bytes();
    for (const Run& run : in.runs) {
      backend_.upload(to + run.begin * row_bytes,
                      received.subspan(run.packed * row_bytes, run.rows * row_bytes), call.stream);
    }
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) override {
    const std::span<std::byte> host = down(sent_, data, count * bytes_of(dtype), call);
    host_->all_reduce(host.data(), count, dtype, call);
    sent_bytes_ = host_->sent_bytes();
    up(data, host, call);
  }

  void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                  const CallContext& call) override {
    const std::int64_t bytes = count_per_rank * bytes_of(dtype);
    const std::span<std::byte> sent = down(sent_, from, bytes, call);
    const std::span<std::byte> received = room(received_, bytes * size);
    host_->all_gather(sent.data(), received.data(), count_per_rank, dtype, call);
    sent_bytes_ = host_->sent_bytes();
    up(to, received, call);
  }

  void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                      const CallContext& call) override {
    const std::int64_t bytes = count_per_rank * bytes_of(dtype);
    const std::span<std::byte> sent = down(sent_, from, bytes * size, call);
    const std::span<std::byte> received = room(received_, bytes);
    host_->reduce_scatter(sent.data(), received.data(), count_per_rank, dtype, call);
    sent_bytes_ = host_->sent_bytes();
    up(to, received, call);
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 const CallContext& call) override {
    const std::int64_t bytes = count * bytes_of(dtype);
    const std::span<std::byte> host =
        rank == root ? down(sent_, data, bytes, call) : room(sent_, bytes);
    host_->broadcast(host.data(), count, dtype, root, call);
    sent_bytes_ = host_->sent_bytes();
    if (rank != root) up(data, host, call);
  }

  void barrier(const CallContext& call) override { host_->barrier(call); }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    return make_staged_communicator(host_->split(ranks), backend_);
  }

  bool on_host() const override { return false; }

 private:
  /// Neighbouring rows of the device that one copy moves, and where they lie in the staging buffer.
  struct Run {
    std::int64_t begin = 0;
    std::int64_t packed = 0;
    std::int64_t rows = 0;
  };
  struct Packed {
    std::vector<Segment> segments;  ///< rows in the staging buffer
    std::vector<Run> runs;
    std::int64_t rows = 0;
  };

  static Packed pack(std::span<const Segment> segments) {
    Packed packed;
    for (const Segment& segment : segments) {
      packed.segments.push_back({segment.peer, packed.rows, segment.rows});
      if (segment.rows == 0) continue;
      if (!packed.runs.empty() &&
          packed.runs.back().begin + packed.runs.back().rows == segment.begin) {
        packed.runs.back().rows += segment.rows;
      } else {
        packed.runs.push_back({segment.begin, packed.rows, segment.rows});
      }
      packed.rows += segment.rows;
    }
    return packed;
  }

  static std::span<std::byte> room(std::vector<std::byte>& buffer, std::int64_t bytes) {
    if (static_cast<std::int64_t>(buffer.size()) < bytes) buffer.resize(bytes);
    return {buffer.data(), static_cast<std::size_t>(bytes)};
  }

  std::span<std::byte> down(std::vector<std::byte>& buffer, const void* device, std::int64_t bytes,
                            const CallContext& call) {
    const std::span<std::byte> host = room(buffer, bytes);
    if (bytes > 0) backend_.download(host, static_cast<const std::byte*>(device), call.stream);
    return host;
  }

  void up(void* device, std::span<const std::byte> host, const CallContext& call) {
    if (!host.empty()) backend_.upload(static_cast<std::byte*>(device), host, call.stream);
  }

  std::unique_ptr<Communicator> host_;
  Backend& backend_;
  std::vector<std::byte> sent_, received_;  ///< grow to the largest call
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host,
                                                       Backend& backend) {
  return std::make_unique<StagedCommunicator>(std::move(host), backend);
}

}  // namespace moe
