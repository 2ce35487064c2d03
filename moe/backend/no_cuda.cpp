#include "moe/backend/backend.h"
#include "moe/errors.h"

namespace moe {

std::unique_ptr<Backend> make_cuda_backend(int, double) {
  throw Unavailable("CUDA backend: this program was built without CUDA");
}

}  // namespace moe
