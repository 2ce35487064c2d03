#include "moe/backend/backend.h"
#include "moe/errors.h"

namespace moe {

std::unique_ptr<Backend> make_cuda_backend(int, double) {
  throw Unavailable("CUDA backend: this program was built without CUDA");
}

int cuda_device_count() { return 0; }

std::vector<std::string> cuda_device_ids() { return {}; }

std::string cuda_device_name(int) { return ""; }

std::int64_t cuda_free_bytes(int) { return 0; }

std::string cuda_version() { return ""; }

}  // namespace moe
