#include "db/identity.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "db/network.h"
#include "db/store.h"
#include "moelab_revision.h"

namespace db {
namespace {

// Names that end in * are prefixes. Open MPI's are listed one framework at a time: others of its
// variables carry the job's keys and addresses.
constexpr std::array kListedNames{"CUDA_VISIBLE_DEVICES",
                                  "CUDA_DEVICE_MAX_CONNECTIONS",
                                  "CUDA_LAUNCH_BLOCKING",
                                  "DNNL_*",
                                  "GOMP_CPU_AFFINITY",
                                  "KMP_AFFINITY",
                                  "MALLOC_ARENA_MAX",
                                  "MKL_NUM_THREADS",
                                  "MOELAB_*",
                                  "NCCL_*",
                                  "OMP_*",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "OMPI_MCA_btl*",
                                  "OMPI_MCA_coll*",
                                  "OMPI_MCA_hwloc_base_binding_policy",
                                  "OMPI_MCA_mpi_*",
                                  "OMPI_MCA_pml*",
                                  "OMPI_MCA_rmaps_base_*",
                                  "ONEDNN_*",
                                  "OPENBLAS_NUM_THREADS",
                                  "SLURM_CPUS_PER_TASK",
                                  "SLURM_JOB_ID",
                                  "SLURM_JOB_NUM_NODES",
                                  "SLURM_NTASKS",
                                  "UCX_NET_DEVICES",
                                  "UCX_TLS"};
constexpr std::array kSecretWords{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"};

bool is_listed(std::string name) {
  const bool listed =
      std::any_of(kListedNames.begin(), kListedNames.end(), [&](std::string_view entry) {
        return entry.ends_with('*') ? name.starts_with(entry.substr(0, entry.size() - 1))
                                    : name == entry;
      });
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return listed && std::none_of(kSecretWords.begin(), kSecretWords.end(), [&](const char* word) {
           return name.find(word) != std::string::npos;
         });
}

// The value after "name" and separator in a file of such lines, without quotes and blanks; "" where
// there is none.
std::string line_value(const char* path, std::string_view name, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    const auto end = line.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (end == std::string::npos || line.substr(0, end + 1) != name) continue;
    const auto first = line.find_first_not_of(" \t\"", at + 1);
    const auto last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
  }
  return "";
}

std::string json_dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Machine this_machine(const MachineParts& parts) {
  Machine machine;
  std::array<char, 256> hostname{};
  gethostname(hostname.data(), hostname.size() - 1);
  machine.hostname = hostname.data();
  machine.os = line_value("/etc/os-release", "PRETTY_NAME", '=');
  machine.cpu = line_value("/proc/cpuinfo", "model name", ':');
  if (machine.cpu.empty()) machine.cpu = line_value("/proc/cpuinfo", "CPU part", ':');
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  machine.gpu = parts.gpu;
  machine.gpu_count = parts.gpu_count;
  machine.libraries_json = json_dump(parts.libraries);
  machine.fingerprint = content_hash(fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", machine.hostname, machine.os, machine.cpu, machine.cores,
      machine.memory_bytes, machine.gpu, machine.gpu_count, machine.libraries_json));
  return machine;
}

Run this_run(const std::string& kind, const std::string& name, int argc, const char* const* argv) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  Run run;
  run.kind = kind;
  run.name = name;
  run.status = kRunning;
  run.started_at = now();
  run.heartbeat_at = run.started_at;
  run.pid = getpid();
  run.revision = moelab::revision();
  run.argv_json = json_dump(std::vector<std::string>(argv, argv + argc));
  run.environment_json = listed_environment_json(environment);
  run.device = "cpu";
  run.network = this_network();
  return run;
}

std::string listed_environment_json(const std::vector<std::string>& environment) {
  nlohmann::json listed = nlohmann::json::object();
  for (const std::string& entry : environment) {
    const auto at = entry.find('=');
    if (at == std::string::npos || !is_listed(entry.substr(0, at))) continue;
    listed[entry.substr(0, at)] = entry.substr(at + 1);
  }
  return json_dump(listed);
}

}  // namespace db
