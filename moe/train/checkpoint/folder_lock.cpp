#include "moe/train/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "moe/communicator/node_name.h"
#include "moe/errors.h"

namespace moe {
namespace {

constexpr const char* kFile = ".lock";
constexpr auto kPause = std::chrono::milliseconds(100);

std::string text_of(int descriptor) {
  std::array<char, 256> text{};
  const ssize_t read = pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(read, 0))};
}

/// -1 where there is neither a file to open nor one to make.
int open_lock(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  // Another user's file: to lock it takes no right to write.
  return descriptor >= 0 ? descriptor : open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& directory, double patience_s)
    : descriptor_(open_lock((directory / kFile).string())) {
  if (descriptor_ < 0)
    return;  // a folder that nothing can be written to, as its first file will say
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;  // no locks there
    if (std::chrono::steady_clock::now() > end) {
      const std::string who = text_of(descriptor_);
      close(descriptor_);
      throw InputError(
          fmt::format("{}: {} writes its checkpoints there: wait until it ends, or "
                      "choose another folder",
                      directory.string(), who.empty() ? "another process" : who));
    }
    std::this_thread::sleep_for(kPause);
  }
  const std::string text = fmt::format("process {} on {}", getpid(), node_name());
  if (ftruncate(descriptor_, 0) != 0 ||
      pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    // A full disk, or another user's file: the lock holds all the same.
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace moe
