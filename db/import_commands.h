#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace db {

/// Adds `import` and its formats. `action` becomes the action of the one that was typed.
void add_import_commands(CLI::App& app, const std::vector<std::string>& command_line,
                         std::function<int()>& action);

}  // namespace db
