#include "moe/communicator/node_name.h"

#include <unistd.h>

#include <array>

namespace moe {

std::string node_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace moe
