#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace db {

/// From now on a write beyond the limit of a file's size (ulimit -f) fails, as on a full disk; it
/// would end the process otherwise. run_program calls this.
void report_file_size_limit();

/// The main() of every program: reads the command line, does `work`, says on stderr what it threw,
/// and writes what stdout holds back. Returns the exit code: that of `work`, of wrong use, or what
/// `exit_code` makes of the exception. A reader that closes stdout (`| head`) is no failure.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work,
                int (*exit_code)(const std::exception&));

}  // namespace db
