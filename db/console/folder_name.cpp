#include "db/console/folder_name.h"

#include <CLI/CLI.hpp>
#include <string>

#include "db/console/options.h"

namespace db::options {

CLI::Validator folder_name() {
  const auto check = [](std::string& text) -> std::string {
    if (text == "-") return "a folder cannot be on stdout: expected a name (./- for this one)";
    return not_empty()(text);
  };
  return {check, ""};
}

}  // namespace db::options
