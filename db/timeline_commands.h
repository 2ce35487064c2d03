#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// Adds `why`. `action` becomes its action where it was typed.
void add_timeline_commands(CLI::App& app, std::function<int()>& action);

}  // namespace db
