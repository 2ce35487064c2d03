#include "moe/backend/backend.h"

namespace moe {

int cuda_device_count() { return 0; }

std::vector<std::string> cuda_device_ids() { return {}; }

std::string cuda_device_name(int) { return ""; }

std::int64_t cuda_free_bytes(int) { return 0; }

std::string cuda_version() { return ""; }

}  // namespace moe
