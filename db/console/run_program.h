#pragma once

#include <exception>
#include <functional>

namespace CLI {
class App;
}

namespace db {

/// From now on a write beyond the limit of a file's size (ulimit -f) fails, as on a full disk; it
/// would end the process otherwise. run_program calls this.
void report_file_size_limit();

/// The main() of every program: reads the command line, does `work`, reports its exception on
/// stderr, and flushes stdout. Returns the exit code: that of `work`, that of wrong use, or the
/// result of `exit_code` for the exception. A reader that closes stdout (`| head`) is no failure.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work,
                int (*exit_code)(const std::exception&));

}  // namespace db
