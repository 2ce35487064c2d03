#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace db {

/// Adds the subcommands of moe-db; `action` becomes the action of the one that was typed. A run
/// that is stored has `command_line`.
void add_commands(CLI::App& app, const std::vector<std::string>& command_line,
                  std::function<int()>& action);

}  // namespace db
