#include "moe/communicator/open_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "moe/communicator/cores.h"
#include "moe/errors.h"

namespace moe {
namespace {

/// The text that every rank tells the others: whether it has NCCL, and a line for each visible GPU.
constexpr std::string_view kNccl = "nccl\n", kNoNccl = "host\n";

std::string describe_devices() {
  std::string text(has_nccl() ? kNccl : kNoNccl);
  for (const std::string& id : cuda_device_ids()) text += id + '\n';
  return text;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

OpenDevice open_processor(Communicator& world, const std::vector<RankInfo>& ranks,
                          const DeviceWish& wish) {
  const int sharers = ranks_on_machine(ranks, world.rank);
  const std::int32_t threads = wish.threads > 0 ? wish.threads : default_threads(sharers);
  const auto memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const RankInfo& self = ranks[static_cast<std::size_t>(world.rank)];
  const auto of_core_set = std::ranges::count(ranks, self.core_set, &RankInfo::core_set);
  const Waiting waiting = waiting_of_threads(static_cast<int>(of_core_set) * threads, self.cores);
  OpenDevice open;
  open.backend = make_cpu_backend(threads, waiting, wish.copy_bytes_per_s);
  open.memory_bytes = memory / 5 * 4 / sharers;
  open.threads.resize(static_cast<std::size_t>(world.size));
  world.all_gather(&threads, open.threads.data(), 1, DType::i32,
                   {.time_limit_s = wish.time_limit_s, .what = "survey of the threads"});
  return open;
}

/// Of ranks that are threads of this process.
OpenDevice open_shared_gpu(Communicator& world, const DeviceWish& wish) {
  constexpr int kDevice = 0;
  const CallContext call{.time_limit_s = wish.time_limit_s, .what = "opening of the device"};
  std::vector<int> all(static_cast<std::size_t>(world.size));
  std::iota(all.begin(), all.end(), 0);
  OpenDevice open;
  open.backend = make_cuda_backend(kDevice, wish.time_limit_s, {world.rank, world.size});
  open.world =
      make_gpu_cluster_communicator(world.split(all), *wish.cluster, kDevice, wish.time_limit_s);
  world.barrier(call);  // now none has begun to fill its arena
  open.memory_bytes = cuda_free_bytes(kDevice) / 5 * 4 / world.size;
  world.barrier(call);
  return open;
}

}  // namespace

DeviceChoice choose_devices(const std::vector<std::vector<std::string>>& visible) {
  std::map<std::string, int> served;
  DeviceChoice choice;
  for (const auto& ids : visible) {
    const auto least = std::min_element(ids.begin(), ids.end(), [&](const auto& a, const auto& b) {
      return served[a] < served[b];
    });
    choice.device.push_back(least == ids.end() ? -1 : static_cast<int>(least - ids.begin()));
    if (least != ids.end()) ++served[*least];
  }
  for (std::size_t rank = 0; rank < visible.size(); ++rank) {
    const int device = choice.device[rank];
    choice.sharers.push_back(device < 0 ? 0 : served[visible[rank][device]]);
    if (choice.sharers.back() != 1) choice.one_each = false;
  }
  return choice;
}

std::string remark_on_threads(const OpenDevice& device, const std::vector<RankInfo>& ranks) {
  const std::vector<int>& threads = device.threads;
  const auto other = std::ranges::find_if(threads, [&](int n) { return n != threads.front(); });
  if (other == threads.end()) return "";
  const auto said = [&](std::size_t rank) {
    return fmt::format("{} on rank {} ({})", threads[rank], rank, ranks.at(rank).hostname);
  };
  return fmt::format("ranks compute with different numbers of threads: {} and {}", said(0),
                     said(static_cast<std::size_t>(other - threads.begin())));
}

OpenDevice open_device(Communicator& world, const std::vector<RankInfo>& ranks,
                       const DeviceWish& wish) {
  if (!wish.cuda) return open_processor(world, ranks, wish);

  if (wish.cluster) return open_shared_gpu(world, wish);

  const CallContext call{.time_limit_s = wish.time_limit_s, .what = "survey of the devices"};
  bool nccl = true;
  std::vector<std::vector<std::string>> visible;
  for (const std::string& text : gather_texts(world, describe_devices(), call)) {
    nccl = nccl && text.starts_with(kNccl);
    visible.push_back(lines(text.substr(kNccl.size())));
  }
  const DeviceChoice choice = choose_devices(visible);
  const int device = choice.device[world.rank];
  if (device < 0) make_cuda_backend(0);  // throws, and knows why
  for (int rank = 0; rank < world.size; ++rank) {
    if (choice.device[rank] < 0) {
      throw Unavailable(
          fmt::format("rank {} on {} has no CUDA device", rank, ranks.at(rank).hostname));
    }
  }

  OpenDevice open;
  open.backend = make_cuda_backend(device, wish.time_limit_s);
  if (nccl && choice.one_each) {
    open.world = make_nccl_communicator(world, *open.backend, device, wish.time_limit_s);
    // NCCL takes memory for its connections at the first call.
    open.world->barrier({open.backend->native_stream(Stream::compute), Stream::compute,
                         wish.time_limit_s, "warm-up of NCCL"});
    open.bytes_left = [device] { return cuda_free_bytes(device) / 5 * 4; };
  }
  // Now every rank has opened its device, and none has begun to fill its arena.
  world.barrier(call);
  open.memory_bytes = cuda_free_bytes(device) / 5 * 4 / choice.sharers[world.rank];
  world.barrier(call);
  return open;
}

}  // namespace moe
