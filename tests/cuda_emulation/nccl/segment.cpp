#include "tests/cuda_emulation/nccl/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace moelab::cuda_emulation::nccl {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t in_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
std::size_t header_bytes() { return in_pages(sizeof(SegmentHeader)); }
std::size_t rank_bytes() { return in_pages(sizeof(RankState)); }
std::size_t mail_bytes() { return in_pages(sizeof(Mailbox)); }

std::size_t segment_bytes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return header_bytes() + n * rank_bytes() + n * n * mail_bytes();
}

/// State and start of a process, from its 3rd and 22nd field. The 2nd is its name in parentheses,
/// which may hold anything. {'?', 0} where there is no such process.
std::pair<char, std::int64_t> read_process(std::int32_t number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {'?', 0};
  std::istringstream fields(text.substr(name_end + 1));
  char state = '?';
  fields >> state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::int64_t start = 0;
  fields >> start;
  return {state, start};
}

std::runtime_error system_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

/// The files that make() opened, by name of the segment.
struct OpenFiles {
  std::mutex mutex;
  std::map<std::uint64_t, int> file;
};
OpenFiles& open_files() {
  static OpenFiles files;
  return files;
}

std::byte* map_file(int file, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw system_error("mmap of a communicator's memory");
  return static_cast<std::byte*>(memory);
}

}  // namespace

ProcessId this_process() {
  const auto number = static_cast<std::int32_t>(getpid());
  return {number, read_process(number).second};
}

bool is_alive(const ProcessId& process) {
  const auto [state, start] = read_process(process.number);
  return state != '?' && state != 'Z' && state != 'X' && start == process.start;
}

SegmentPlace Segment::make() {
  const int file = memfd_create("moelab_emulated_nccl", MFD_CLOEXEC);
  if (file < 0) throw system_error("memfd_create");
  if (ftruncate(file, static_cast<off_t>(header_bytes())) != 0) throw system_error("ftruncate");
  std::random_device random;
  const std::uint64_t name = std::uint64_t{random()} << 32 | random();
  std::byte* const memory = map_file(file, header_bytes());
  reinterpret_cast<SegmentHeader*>(memory)->name = name;
  munmap(memory, header_bytes());
  OpenFiles& files = open_files();
  const std::lock_guard lock(files.mutex);
  files.file[name] = file;
  return {this_process(), file, name};
}

void Segment::release(const SegmentPlace& place) {
  OpenFiles& files = open_files();
  const std::lock_guard lock(files.mutex);
  const auto found = files.file.find(place.name);
  if (found == files.file.end()) return;
  close(found->second);
  files.file.erase(found);
}

Segment::Segment(const SegmentPlace& place, int ranks)
    : bytes_(segment_bytes(ranks)), ranks_(ranks) {
  const std::string path =
      "/proc/" + std::to_string(place.process.number) + "/fd/" + std::to_string(place.file);
  const int file = is_alive(place.process) ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) {
    throw std::runtime_error("process " + std::to_string(place.process.number) +
                             ", which made the communicator's id, is gone");
  }
  // It grows once, to a size that all ranks agree on.
  std::byte* const head = map_file(file, header_bytes());
  SegmentHeader& first = *reinterpret_cast<SegmentHeader*>(head);
  const bool same_name = first.name == place.name;
  std::int32_t expected = 0;
  if (same_name) first.ranks.compare_exchange_strong(expected, ranks);
  munmap(head, header_bytes());
  if (same_name && (expected == 0 || expected == ranks) &&
      ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    memory_ = map_file(file, bytes_);
  }
  close(file);
  if (memory_ == nullptr) {
    throw std::runtime_error(
        same_name ? "the communicator is of " + std::to_string(expected) +
                        " ranks for one rank and of " + std::to_string(ranks) + " for another"
                  : "the communicator's id is not, or no longer, one of ncclGetUniqueId");
  }
}

Segment::~Segment() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(ranks_, other.ranks_);
  return *this;
}

SegmentHeader& Segment::header() const { return *reinterpret_cast<SegmentHeader*>(memory_); }

RankState& Segment::rank(int rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return *reinterpret_cast<RankState*>(memory_ + header_bytes() + place * rank_bytes());
}

Mailbox& Segment::mail(int from, int to) const {
  const auto place = static_cast<std::size_t>(from * ranks_ + to);
  const auto ranks = static_cast<std::size_t>(ranks_);
  return *reinterpret_cast<Mailbox*>(memory_ + header_bytes() + ranks * rank_bytes() +
                                     place * mail_bytes());
}

void Segment::judge(ncclResult_t code, const std::string& text) const {
  Verdict& verdict = header().verdict;
  std::int32_t none = 0;
  if (!verdict.state.compare_exchange_strong(none, 1)) return;
  verdict.code = code;
  text.copy(verdict.text.data(), verdict.text.size() - 1);
  verdict.state = 2;
}

bool Segment::judged(ncclResult_t& code, std::string& text) const {
  const Verdict& verdict = header().verdict;
  if (verdict.state != 2) return false;
  code = verdict.code;
  text = verdict.text.data();
  return true;
}

}  // namespace moelab::cuda_emulation::nccl
