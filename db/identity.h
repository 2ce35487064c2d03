#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/records.h"

/// The origin of a figure: the machine, the build, the command line.
namespace db {

/// The facts about the machine that only the caller knows.
struct MachineParts {
  std::map<std::string, std::string> libraries;  ///< {"oneDNN", "2.6.3"}, {"NVIDIA driver", ...}
  std::string gpu;
  int gpu_count = 0;
};

/// This computer: host name, operating system, processor, cores, memory and the caller's parts; the
/// fingerprint is a hash of them all.
Machine this_machine(const MachineParts& parts = {});

/// A run of this process, not stored yet: kind, name, pid, the build's git revision, argv, the
/// listed environment variables, the network, status "running", started now. The caller sets
/// machine_id, device, ranks, model, cluster, schedule, seed.
Run this_run(const std::string& kind, const std::string& name, int argc, const char* const* argv);

/// The variables of `environment` ("NAME=value" each) that may be stored: those that change what is
/// measured (threads, MPI transports, CUDA, NCCL, SLURM's job shape), never one that could hold a
/// secret. A JSON object.
std::string listed_environment_json(const std::vector<std::string>& environment);

}  // namespace db
