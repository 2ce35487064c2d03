#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "moe/errors.h"

namespace fuzz {

/// A loader, with texts that it takes.
struct Target {
  std::string name;
  std::string file_name;  ///< as a failing input is written
  std::vector<std::string> samples;
  /// Loads a text and does what a program would do with it next; may write below the folder.
  /// Throws moe::InputError or moe::Refusal for what it refuses.
  std::function<void(const std::string& text, const std::filesystem::path& folder)> load;
};

/// Model, cluster, schedule and routing files.
std::vector<Target> targets();

}  // namespace fuzz
