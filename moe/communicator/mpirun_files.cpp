#include "moe/communicator/mpirun_files.h"

#include <fmt/format.h>
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

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  return found;
}

/// Open MPI names it ompi.HOST.USER; nodes of a box that share a folder have several.
std::vector<fs::path> host_folders() {
  const fs::path temporary =
      first_set({"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"}, "/tmp");
  std::vector<fs::path> found;
  for (const fs::path& entry : entries(temporary)) {
    const std::string name = entry.filename();
    if (name.starts_with("ompi.") && name.ends_with(fmt::format(".{}", geteuid()))) {
      found.push_back(entry);
    }
  }
  return found;
}

/// The folder of each mpirun, pid.NUMBER, in those of the hosts.
fs::path folder_of(const fs::path& host, pid_t mpirun) {
  return host / fmt::format("pid.{}", mpirun);
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
void remove_segments(const fs::path& host, const fs::path& folder) {
  const auto job = leading_number<std::uint32_t>(file_text(folder / "contact.txt"), 10);
  if (!job) return;
  const std::string head = "vader_segment" + host.filename().string().substr(4) + ".";
  const fs::path shared = first_set({"OMPI_MCA_btl_vader_backing_directory"}, "/dev/shm");
  for (const fs::path& entry : entries(shared)) {
    const std::string name = entry.filename();
    if (!name.starts_with(head)) continue;
    const auto other =
        leading_number<std::uint32_t>(std::string_view(name).substr(head.size()), 16);
    std::error_code ignored;
    if (other && *other >> 16 == *job >> 16) fs::remove(entry, ignored);
  }
}

void remove_files(const fs::path& host, const fs::path& folder) {
  std::error_code ignored;
  remove_segments(host, folder);
  // Ranks that end at this moment remove files too, and remove_all() stops at one that is gone.
  for (int attempt = 0; attempt < 10 && fs::exists(folder, ignored); ++attempt) {
    fs::remove_all(folder, ignored);
  }
  fs::remove(host, ignored);  // stays where it holds another's
}

}  // namespace

bool mark_mpirun_files(pid_t mpirun) {
  std::error_code ignored;
  for (const fs::path& host : host_folders()) {
    const fs::path folder = folder_of(host, mpirun);
    if (!fs::is_regular_file(folder / "contact.txt", ignored)) continue;
    std::ofstream(folder / kMark) << place_of_process_ids();
    return true;
  }
  return false;
}

void remove_mpirun_files(pid_t mpirun) {
  std::error_code ignored;
  for (const fs::path& host : host_folders()) {
    const fs::path folder = folder_of(host, mpirun);
    if (fs::exists(folder / kMark, ignored)) remove_files(host, folder);
  }
}

void remove_abandoned_mpirun_files() {
  const std::string here = place_of_process_ids();
  for (const fs::path& host : host_folders()) {
    for (const fs::path& folder : entries(host)) {
      const std::string name = folder.filename();
      if (!name.starts_with("pid.") || file_text(folder / kMark) != here) continue;
      if (!is_alive(name.substr(4))) remove_files(host, folder);
    }
  }
}

}  // namespace moe
