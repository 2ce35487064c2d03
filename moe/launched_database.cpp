#include "moe/launched_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "db/file_identity.h"
#include "moe/errors.h"

namespace moe {
namespace {

/// Open MPI hands variables that begin so on to the ranks of other hosts.
constexpr const char* kDatabaseVariable = "OMPI_MOELAB_DATABASE";

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Empty where no file is. Throws db::Error for one that cannot be read.
std::string identity_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return "";
  return db::file_identity(db::open_reader(path));
}

}  // namespace

void tell_ranks(const db::Connection& connection) {
  setenv(kDatabaseVariable,
         fmt::format("{} {}", db::file_identity(connection), this_host()).c_str(), 1);
}

void expect_database_of_launcher(const std::string& path) {
  const char* told = std::getenv(kDatabaseVariable);
  if (told == nullptr) return;
  const std::string text = told;
  const std::size_t blank = text.find(' ');
  if (text.substr(0, blank) == identity_of(path)) return;
  const std::string launcher = blank == std::string::npos ? "" : text.substr(blank + 1);
  throw InputError(
      fmt::format("--db {}: rank 0 runs on {}, where this is not the file that was opened on {}, "
                  "where the job was started: name a file in a folder that both see, or start the "
                  "job on {}",
                  path, this_host(), launcher, this_host()));
}

}  // namespace moe
