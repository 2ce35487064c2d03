#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "moe/backend/cuda_owned.cuh"
#include "moe/communicator/gpu_cluster.h"
#include "moe/communicator/one_gpu/stream_words.h"
#include "moe/communicator/paced_links.h"

namespace moe::one_gpu {

/// The links of a cluster in one GPU: a thread of the host works out when they would have carried
/// what streams have sent (paced_links.h), and lets the streams go on then. What shares a link takes
/// turns on it, a few microseconds each.
class Pacer {
 public:
  /// Throws Unavailable where something is paced and the driver cannot wait (stream_words.h).
  explicit Pacer(GpuCluster cluster);
  /// Lets everything go on.
  ~Pacer();
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  /// Of one stream at a time: words of pinned memory, for how many of its transfers have begun, and
  /// how many have been carried.
  struct Gate {
    std::uint32_t* begun = nullptr;
    std::uint32_t* carried = nullptr;
    std::uint32_t transfers = 0;
  };
  Gate make_gate();
  void give_back(const Gate& gate);

  struct Message {
    int from = 0, to = 0;  ///< ranks of the cluster
    std::int64_t bytes = 0;
  };
  /// The messages of a transfer leave when the stream comes here. False where none of them is paced;
  /// else the caller calls hold() next.
  bool depart(Gate& gate, cudaStream_t stream, std::span<const Message> messages);
  /// From here on the stream waits until the last of these messages has arrived.
  void hold(const Gate& gate, cudaStream_t stream);

 private:
  struct UnderWay {
    PacedRoute route;
    std::int64_t bytes = 0;  ///< that have not left yet
    double left_s = 0;       ///< when what has left so far had left
  };
  struct Transfer {
    std::uint32_t* carried = nullptr;
    std::uint32_t number = 0;
    bool has_begun = false;
    std::vector<UnderWay> messages{};
    double arrival_s = 0;  ///< of what has left so far
  };

  std::optional<PacedRoute> route(int from, int to);
  void run();
  /// Whether it is over.
  static bool advance(std::uint32_t* begun, Transfer& transfer, double now_s);

  const GpuCluster cluster_;
  std::optional<StreamWords> words_;      ///< none where nothing is paced
  std::vector<LinkClock> cards_, inner_;  ///< out and in of each node, of each rank
  std::mutex mutex_;
  std::condition_variable changed_;
  /// By the stream's word, its transfers that are not over: the first comes before the others.
  std::map<std::uint32_t*, std::deque<Transfer>> transfers_;
  std::vector<PinnedMemory> blocks_;
  std::vector<Gate> free_gates_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace moe::one_gpu
