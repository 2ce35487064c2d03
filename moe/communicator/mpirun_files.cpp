#include "moe/communicator/mpirun_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace moe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "moelab";

fs::path first_set(std::initializer_list<const char*> variables, const char* otherwise) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return otherwise;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    found.push_back(entry.path().filename());
  }
  return found;
}

/// A folder that is this user's and that nobody else can write to, held open: its path leads to it
/// whatever takes its name meanwhile. Anybody may make folders of any name among temporary files.
class OwnFolder {
 public:
  /// None where the name is a link, or the folder another's.
  static std::optional<OwnFolder> open(const fs::path& path) {
    OwnFolder folder(path, ::open(path.c_str(), O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC));
    struct stat status {};
    constexpr mode_t others_write = S_IWGRP | S_IWOTH;
    if (folder.file_ < 0 || fstat(folder.file_, &status) != 0 || status.st_uid != geteuid() ||
        (status.st_mode & others_write) != 0) {
      return std::nullopt;
    }
    return folder;
  }
  OwnFolder(OwnFolder&& other) noexcept
      : named_(std::move(other.named_)), file_(std::exchange(other.file_, -1)) {}
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  OwnFolder& operator=(OwnFolder&&) = delete;
  ~OwnFolder() {
    if (file_ >= 0) close(file_);
  }

  const fs::path& named() const { return named_; }
  fs::path path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  OwnFolder(fs::path named, int file) : named_(std::move(named)), file_(file) {}

  fs::path named_;
  int file_;
};

/// Open MPI names it ompi.HOST.USER; nodes of a box that share a folder have several.
std::vector<OwnFolder> host_folders() {
  const fs::path temporary =
      first_set({"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"}, "/tmp");
  std::vector<OwnFolder> found;
  for (const std::string& name : names_in(temporary)) {
    if (!name.starts_with("ompi.") || !name.ends_with(fmt::format(".{}", geteuid()))) continue;
    if (auto folder = OwnFolder::open(temporary / name)) found.push_back(std::move(*folder));
  }
  return found;
}

/// The folder of an mpirun, pid.NUMBER, in that of its host; none where there is none.
std::optional<OwnFolder> folder_of(const OwnFolder& host, pid_t mpirun) {
  return OwnFolder::open(host.path() / fmt::format("pid.{}", mpirun));
}

std::string file_text(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename Number>
std::optional<Number> leading_number(std::string_view text, int base) {
  Number number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (end.ec != std::errc{}) return std::nullopt;
  return number;
}

/// Process ids mean the same only where this is equal: in one namespace since one start.
std::string place_of_process_ids() {
  std::error_code ignored;
  return file_text("/proc/sys/kernel/random/boot_id") +
         fs::read_symlink("/proc/self/ns/pid", ignored).string() + '\n';
}

/// A process that has ended and that nobody has waited for is dead, although /proc lists it.
bool is_alive(const std::string& process) {
  const std::string stat = file_text(fs::path("/proc") / process / "stat");
  const std::size_t end = stat.rfind(')');  // "pid (name) state ...": the name may hold anything
  if (end == std::string::npos || end + 2 >= stat.size()) return false;
  return stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

/// Segments are named vader_segment.HOST.USER.JOB.RANK. The upper half of JOB, a number of 32 bits
/// in hexadecimal digits, is mpirun's; contact.txt begins with the number of mpirun's own job.
void remove_segments(const OwnFolder& host, const OwnFolder& folder) {
  const auto job = leading_number<std::uint32_t>(file_text(folder.path() / "contact.txt"), 10);
  if (!job) return;
  const std::string head = "vader_segment" + host.named().filename().string().substr(4) + ".";
  const fs::path shared = first_set({"OMPI_MCA_btl_vader_backing_directory"}, "/dev/shm");
  for (const std::string& name : names_in(shared)) {
    if (!name.starts_with(head)) continue;
    const auto other =
        leading_number<std::uint32_t>(std::string_view(name).substr(head.size()), 16);
    if (!other || *other >> 16 != *job >> 16) continue;
    const fs::path segment = shared / name;
    struct stat status {};
    if (lstat(segment.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid()) {
      continue;
    }
    unlink(segment.c_str());
  }
}

void remove_files(const OwnFolder& host, const OwnFolder& folder) {
  std::error_code ignored;
  remove_segments(host, folder);
  // Ranks that end at this moment remove files too, and remove_all() stops at one that is gone.
  const fs::path path = host.path() / folder.named().filename();
  for (int attempt = 0; attempt < 10 && fs::exists(path, ignored); ++attempt) {
    fs::remove_all(path, ignored);
  }
  rmdir(host.named().c_str());  // stays where it holds another's
}

}  // namespace

bool mark_mpirun_files(pid_t mpirun) {
  std::error_code ignored;
  for (const OwnFolder& host : host_folders()) {
    const auto folder = folder_of(host, mpirun);
    if (!folder || !fs::is_regular_file(folder->path() / "contact.txt", ignored)) continue;
    // A mark that an mpirun of the same number has left is of another start of the machine.
    const fs::path mark = folder->path() / kMark;
    unlink(mark.c_str());
    const int file = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) continue;
    const std::string place = place_of_process_ids();
    [[maybe_unused]] const auto written = write(file, place.data(), place.size());
    close(file);
    return true;
  }
  return false;
}

void remove_mpirun_files(pid_t mpirun) {
  std::error_code ignored;
  for (const OwnFolder& host : host_folders()) {
    const auto folder = folder_of(host, mpirun);
    if (folder && fs::exists(folder->path() / kMark, ignored)) remove_files(host, *folder);
  }
}

void remove_abandoned_mpirun_files() {
  const std::string here = place_of_process_ids();
  for (const OwnFolder& host : host_folders()) {
    for (const std::string& name : names_in(host.path())) {
      if (!name.starts_with("pid.")) continue;
      const auto folder = OwnFolder::open(host.path() / name);
      if (!folder || file_text(folder->path() / kMark) != here) continue;
      if (!is_alive(name.substr(4))) remove_files(host, *folder);
    }
  }
}

}  // namespace moe
