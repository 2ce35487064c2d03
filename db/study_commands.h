#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// Adds `best` and `compare-studies`. `action` becomes the action of the one that was typed.
void add_study_commands(CLI::App& app, std::function<int()>& action);
/// Adds `schedule` to the formats of `export`.
void add_export_schedule(CLI::App& formats, std::function<int()>& action);

}  // namespace db
