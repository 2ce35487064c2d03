#include "moe/communicator/mpi/transport.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "moe/communicator/mpi/c_interface.h"

namespace moe {
namespace {

struct McaParameter {
  const char* name;
  std::string value;
};

std::array<McaParameter, 2> defaults() {
  return {
      McaParameter{"btl_tcp_eager_limit", std::to_string(kEagerFragmentBytes + kMpiHeaderBytes)},
      McaParameter{"btl_tcp_flags", "send,inplace"}};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<std::string> parameter_files() {
  std::vector<std::string> files;
  if (const std::string list = variable("OMPI_MCA_mca_base_param_files"); !list.empty()) {
    std::istringstream stream(list);
    for (std::string file; std::getline(stream, file, ',');) files.push_back(file);
    return files;
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    files.push_back(home + "/.openmpi/mca-params.conf");
  }
  std::string prefix = variable("OPAL_PREFIX");
  Dl_info library{};
  if (prefix.empty() && dladdr(reinterpret_cast<const void*>(&MPI_Init), &library) != 0) {
    prefix = std::filesystem::path(library.dli_fname).parent_path().parent_path();
  }
  if (!prefix.empty()) files.push_back(prefix + "/etc/openmpi-mca-params.conf");
  files.push_back("/etc/openmpi/openmpi-mca-params.conf");  // where Debian keeps it
  return files;
}

bool user_has_set(const std::string& name, std::span<const std::string> files) {
  if (std::getenv(("OMPI_MCA_" + name).c_str()) != nullptr) return true;
  for (const std::string& file : files) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
      const std::size_t begin = line.find_first_not_of(" \t");
      const std::size_t end = line.find_first_of(" \t=", begin == std::string::npos ? 0 : begin);
      if (end == std::string::npos || line.find('=', end) == std::string::npos) continue;
      if (std::string_view(line).substr(begin, end - begin) == name) return true;
    }
  }
  return false;
}

void set_transport_defaults() {
  const auto files = parameter_files();
  for (const auto& [name, value] : defaults()) {
    if (!user_has_set(name, files)) {
      setenv(("OMPI_MCA_" + std::string(name)).c_str(), value.c_str(), 1);
    }
  }
}

}  // namespace moe
