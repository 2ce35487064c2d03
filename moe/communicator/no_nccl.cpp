#include "moe/communicator/communicator.h"
#include "moe/errors.h"

namespace moe {

std::unique_ptr<Communicator> make_nccl_communicator(Communicator&, Backend&, int, double) {
  throw Unavailable("built without NCCL");
}

bool has_nccl() { return false; }

}  // namespace moe
