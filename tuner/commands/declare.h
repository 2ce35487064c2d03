#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/commands/commands.h"

namespace CLI {
class App;
}

/// The options of moe-tune's subcommands, each in a file beside what the subcommand does. Compiled
/// into the program, not into the library: they read CLI11.
namespace tuner {

/// Runs the subcommand that was typed.
using Action = std::function<int(int argc, char** argv)>;

void declare_fit(CLI::App& app, Arguments& arguments, Action& action);
void declare_plan(CLI::App& app, Arguments& arguments, Action& action);
void declare_simulate(CLI::App& app, Arguments& arguments, Action& action);
void declare_search(CLI::App& app, Arguments& arguments, Action& action);
void declare_compare(CLI::App& app, Arguments& arguments, Action& action);
void declare_shipped_files(CLI::App& app, Arguments& arguments, Action& action);
void declare_study(CLI::App& app, Arguments& arguments, Action& action);

// --- options of several subcommands --------------------------------------------------------------

/// Model, cluster, database (whose text is `database`) and routing.
void add_model_on_cluster(CLI::App& command, Arguments& arguments, const std::string& database);
/// These, ranks and layout (add_layout).
void add_scenario(CLI::App& command, Arguments& arguments, const std::string& database,
                  const std::string& usual_layout = "ep=all");
/// `--model`, and `--set` for its keys.
void add_model(CLI::App& command, Arguments& arguments);
/// `usual`: the layout where none is asked for.
void add_layout(CLI::App& command, Arguments& arguments, const std::string& usual = "ep=all");
void add_most_chunks(CLI::App& command, int& most_chunks);
/// `--given`, which may come several times.
void add_given(CLI::App& command, std::vector<std::string>& given, const std::string& what);

}  // namespace tuner
