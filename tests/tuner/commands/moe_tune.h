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

/// A small model on four ranks.
inline const std::vector<std::string> kScenario{"--model", "micro", "--cluster", "box",
                                                "--ranks", "4",     "--layout",  "ep=4"};

/// `first`, kScenario, and `more`.
inline std::vector<std::string> with(std::vector<std::string> first,
                                     const std::vector<std::string>& more) {
  first.insert(first.end(), kScenario.begin(), kScenario.end());
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace tuner::test
