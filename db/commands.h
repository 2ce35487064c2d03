#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// Adds the subcommands of moe-db; `action` becomes what the one that was typed does.
void add_commands(CLI::App& app, std::function<int()>& action);

}  // namespace db
