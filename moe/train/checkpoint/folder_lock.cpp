#include "moe/train/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
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
constexpr const char* kProcess = "process ";  // with which its contents begin
constexpr auto kPause = std::chrono::milliseconds(100);

std::string text_of(int descriptor) {
  std::array<char, 256> text{};
  const ssize_t read = pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(read, 0))};
}

[[noreturn]] void refuse_lock(const std::string& path, int descriptor, const char* what) {
  if (descriptor >= 0) close(descriptor);
  throw InputError(fmt::format(
      "{}: {}: expected no such name, or the file that moe-train makes: move it away", path, what));
}

/// -1 where there is neither a file to open nor one to make. What stands there under this name may
/// be somebody's: it is neither followed nor written to then.
int open_lock(const std::string& path) {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int descriptor = open(path.c_str(), O_RDWR | O_CREAT | flags, 0666);
  // Another user's file: to lock it takes no right to write.
  if (descriptor < 0 && errno != ELOOP) descriptor = open(path.c_str(), O_RDONLY | flags);
  if (descriptor < 0) {
    if (errno == ELOOP) refuse_lock(path, -1, "is a link");
    return -1;
  }
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse_lock(path, descriptor, "is no plain file");
  }
  if (status.st_nlink > 1) refuse_lock(path, descriptor, "has another name, too");
  if (const std::string text = text_of(descriptor); !text.empty() && !text.starts_with(kProcess)) {
    refuse_lock(path, descriptor, "has other contents");
  }
  return descriptor;
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
  const std::string text = fmt::format("{}{} on {}", kProcess, getpid(), node_name());
  if (ftruncate(descriptor_, 0) != 0 ||
      pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    // A full disk, or another user's file: the lock holds all the same.
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace moe
