#pragma once

#include <string>
#include <vector>

#include "moe/child.h"

namespace tuner::test {

/// The program that was built beside the tests.
inline moe::ChildResult moe_tune(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MOELAB_BINARY_DIR "/bin/moe-tune");
  return moe::run_child(arguments, 60, {});
}

}  // namespace tuner::test
