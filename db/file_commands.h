#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// Adds `merge` and `prune`, which make and change whole databases. `action` becomes the action of
/// the one that was typed.
void add_file_commands(CLI::App& app, std::function<int()>& action);

}  // namespace db
