#include "moe/communicator/communicator.h"

namespace moe {

std::string mpi_version() { return ""; }

}  // namespace moe
