#include "moe/communicator/paced_links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include "moe/errors.h"

namespace moe {
namespace {

/// Places in the file: a card for each node, then a link inside its node for each rank.
constexpr int kCards = 1024;
constexpr int kInnerLinks = 3072;
constexpr std::size_t kFileBytes = (kCards + kInnerLinks) * 2 * sizeof(LinkClock);
static_assert(LinkClock::is_always_lock_free);

const char* box_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double rate_bytes_per_s(const char* name) {
  const double gbps = std::strtod(box_variable(name), nullptr);
  if (!(gbps > 0) || !std::isfinite(gbps)) {
    throw InputError(fmt::format("{}={}: a rate in Gbit/s expected", name, box_variable(name)));
  }
  return gbps * 1e9 / 8;
}

}  // namespace

std::optional<PacedBox> paced_box() {
  PacedBox box{.folder = box_variable("MOELAB_BOX_PACED")};
  if (box.folder.empty()) return std::nullopt;
  box.node = std::atoi(box_variable("MOELAB_BOX_NODE"));
  box.card_bytes_per_s = rate_bytes_per_s("MOELAB_BOX_NIC_GBPS");
  if (*box_variable("MOELAB_BOX_INTRA_GBPS") != '\0') {
    box.intra_bytes_per_s = rate_bytes_per_s("MOELAB_BOX_INTRA_GBPS");
  }
  return box;
}

double take_link(LinkClock& link, double from_s, double duration_s) {
  const auto from_ns = static_cast<std::int64_t>(from_s * 1e9);
  const auto duration_ns = static_cast<std::int64_t>(std::llround(duration_s * 1e9));
  std::int64_t free_ns = link.load();
  std::int64_t begin_ns = 0;
  do {
    begin_ns = std::max(from_ns, free_ns);
  } while (!link.compare_exchange_weak(free_ns, begin_ns + duration_ns));
  return static_cast<double>(begin_ns) / 1e9;
}

double PacedRoute::leave(std::int64_t bytes, double now_s) const {
  return take_link(*out, now_s - duration_s(kBucketBytes), duration_s(bytes));
}

double PacedRoute::arrive(std::int64_t bytes, double left_s) const {
  return take_link(*in, left_s, duration_s(bytes)) + duration_s(bytes);
}

PacedLinks::PacedLinks(PacedBox box) : box_(std::move(box)) {
  const std::string path = box_.folder + "/links";
  const auto fail = [&] {
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("{} (links of the paced box)", path));
  };
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) fail();
  void* memory = MAP_FAILED;
  if (ftruncate(file, kFileBytes) == 0) {
    memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  close(file);
  errno = error;
  if (memory == MAP_FAILED) fail();
  clocks_ = {static_cast<LinkClock*>(memory), kFileBytes / sizeof(LinkClock)};
}

PacedLinks::~PacedLinks() { munmap(clocks_.data(), kFileBytes); }

std::optional<PacedRoute> PacedLinks::route(End from, End to) const {
  if (from.node >= kCards || to.node >= kCards || from.rank >= kInnerLinks ||
      to.rank >= kInnerLinks) {
    throw InputError(
        fmt::format("a paced box has at most {} nodes and {} ranks", kCards, kInnerLinks));
  }
  if (from.node != to.node) {
    return PacedRoute{clock(from.node, false), clock(to.node, true), box_.card_bytes_per_s};
  }
  if (from.rank == to.rank || box_.intra_bytes_per_s == 0) return std::nullopt;
  return PacedRoute{clock(kCards + from.rank, false), clock(kCards + to.rank, true),
                    box_.intra_bytes_per_s};
}

LinkClock* PacedLinks::clock(int link, bool in) const { return &clocks_[2 * link + (in ? 1 : 0)]; }

}  // namespace moe
