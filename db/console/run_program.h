#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// The main() of every program: reads the command line, does `work`, says on stderr what it threw,
/// and writes what stdout holds back. Returns the exit code: that of `work`, of wrong use, or what
/// `exit_code` makes of the exception. A reader that closes stdout (`| head`) is no failure.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work,
                int (*exit_code)(const std::exception&));

}  // namespace db
