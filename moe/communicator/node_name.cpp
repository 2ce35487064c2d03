#include "moe/communicator/node_name.h"

#include <unistd.h>

#include <array>

#include "moe/communicator/paced_links.h"

namespace moe {

std::string node_name() {
  // The nodes of a paced box have no host names of their own, and what is measured there says so.
  if (const auto box = paced_box()) return "paced-node" + std::to_string(box->node);
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace moe
