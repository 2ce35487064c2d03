#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// Adds the subcommands of moe-db; `action` becomes the action of the one that was typed.
void add_commands(CLI::App& app, std::function<int()>& action);

}  // namespace db
