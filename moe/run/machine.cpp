#include "moe/run/machine.h"

#include "db/identity.h"
#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

namespace moe {

db::Machine this_machine() {
  db::MachineParts parts;
  const auto add = [&](const char* library, const std::string& version) {
    if (!version.empty()) parts.libraries[library] = version;
  };
  add("oneDNN", onednn_version());
  add("MPI", mpi_version());
  add("CUDA", cuda_version());
  parts.gpu_count = cuda_device_count();
  if (parts.gpu_count > 0) parts.gpu = cuda_device_name(0);
  return db::this_machine(parts);
}

}  // namespace moe
