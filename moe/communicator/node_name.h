#pragma once

#include <string>

namespace moe {

/// The name of the node that this process runs on. Ranks with equal names are on one node: they
/// share a network card, and memory.
std::string node_name();

}  // namespace moe
