#include <algorithm>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

/// A host communicator for buffers of a device. Data goes down to host memory, through the host
/// communicator, and up again, in the order of CallContext::stream. The backend's copies go through
/// memory that it has pinned.
namespace moe {
namespace {

class StagedCommunicator : public Communicator {
 public:
  StagedCommunicator(std::unique_ptr<Communicator> host, Backend& backend)
      : Communicator(host->rank, host->size), host_(std::move(host)), backend_(backend) {
    arrived_s_ = host_->arrived_s();
  }

  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(what, size, [&](const auto& one) { carry_out(one, call); });
    sent_bytes_ = host_->sent_bytes();
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    return make_staged_communicator(host_->split(ranks), backend_);
  }

  bool on_host() const override { return false; }

 private:
  void carry_out(const collective::AllToAllV& c, const CallContext& call) {
    const Packed out = pack(c.send), in = pack(c.receive);
    const std::span<std::byte> sent = room(sent_, out.rows * c.row_bytes);
    const std::span<std::byte> received = room(received_, in.rows * c.row_bytes);
    for (const Run& run : out.runs) {
      backend_.download(sent.subspan(run.packed * c.row_bytes, run.rows * c.row_bytes),
                        c.from + run.begin * c.row_bytes, call.stream);
    }
    host_->all_to_all_v(sent.data(), out.segments, received.data(), in.segments, c.row_bytes, call);
    for (const Run& run : in.runs) {
      backend_.post(c.to + run.begin * c.row_bytes,
                    received.subspan(run.packed * c.row_bytes, run.rows * c.row_bytes),
                    call.stream);
    }
  }

  void carry_out(const collective::Barrier& c, const CallContext& call) { host_->run(c, call); }

  void carry_out(const collective::ChainBroadcast& c, const CallContext& call) { chains(c, call); }
  void carry_out(const collective::ChainReduce& c, const CallContext& call) { chains(c, call); }

  void carry_out(const collective::ReduceShares& c, const CallContext& call) { shares(c, call); }
  void carry_out(const collective::GatherShares& c, const CallContext& call) { shares(c, call); }

  /// Downloads what this rank gives of its arrays, uploads what it gets.
  template <typename ShareCall>
  void shares(const ShareCall& c, const CallContext& call) {
    const int element = bytes_of(c.dtype);
    std::vector<ElementRange> packed;
    std::int64_t count = 0;
    for (const ElementRange& array : c.arrays) {
      packed.push_back({count, array.count});
      count += array.count;
    }
    const std::span<std::byte> elements = room(sent_, count * element);
    const auto bytes_in = [&](const ElementRange& range) {
      return elements.subspan(range.begin * element, range.count * element);
    };
    for (std::size_t i = 0; i < packed.size(); ++i) {
      backend_.download(bytes_in(c.read(packed[i], rank, size)),
                        c.data + c.read(c.arrays[i], rank, size).begin * element, call.stream);
    }
    host_->run(ShareCall{{elements.data(), packed, c.dtype}}, call);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      backend_.post(c.data + c.written(c.arrays[i], rank, size).begin * element,
                    bytes_in(c.written(packed[i], rank, size)), call.stream);
    }
  }

  /// Downloads the elements that this rank gives to its chains, uploads those that it gets.
  template <typename ChainCall>
  void chains(const ChainCall& c, const CallContext& call) {
    const int element = bytes_of(c.dtype);
    std::vector<collective::Chain> packed;
    std::int64_t count = 0;
    for (collective::Chain chain : c.chains) {
      chain.begin = count;
      count += chain.count;
      packed.push_back(chain);
    }
    const std::span<std::byte> elements = room(sent_, count * element);
    const auto staged = [&](std::size_t i) {
      return elements.subspan(packed[i].begin * element, packed[i].count * element);
    };
    for (std::size_t i = 0; i < packed.size(); ++i) {
      if (!c.reads(packed[i])) continue;
      backend_.download(staged(i), c.data + c.chains[i].begin * element, call.stream);
    }
    host_->run(ChainCall{{elements.data(), packed, c.dtype}}, call);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      if (!c.writes(packed[i])) continue;
      backend_.post(c.data + c.chains[i].begin * element, staged(i), call.stream);
    }
  }

  /// Any call on an array: downloads the input of this rank, uploads its output.
  template <typename ArrayCall>
  void carry_out(const ArrayCall& c, const CallContext& call) {
    const std::int64_t read = c.read_count(rank, size) * bytes_of(c.dtype);
    const std::int64_t written = c.written_count(rank, size) * bytes_of(c.dtype);
    const bool in_place = c.from == c.to;
    const std::span<std::byte> from = room(sent_, in_place ? std::max(read, written) : read);
    const std::span<std::byte> to = in_place ? from : room(received_, written);
    if (read > 0) {
      backend_.download(from.first(read), static_cast<const std::byte*>(c.from), call.stream);
    }
    ArrayCall on_host = c;
    on_host.from = from.data();
    on_host.to = to.data();
    host_->run(on_host, call);
    if (written > 0) {
      backend_.post(static_cast<std::byte*>(c.to), to.first(written), call.stream);
    }
  }

  /// Neighbouring rows of the device that one copy moves, and where they lie in the staging buffer.
  struct Run {
    std::int64_t begin = 0;
    std::int64_t packed = 0;
    std::int64_t rows = 0;
  };
  struct Packed {
    std::vector<Segment> segments;  ///< where the rows lie in the staging buffer
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

  std::unique_ptr<Communicator> host_;
  Backend& backend_;
  std::vector<std::byte> sent_, received_;  ///< as large as the largest call so far needed
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host,
                                                       Backend& backend) {
  return std::make_unique<StagedCommunicator>(std::move(host), backend);
}

}  // namespace moe
