#include "db/console/run_program.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "db/console/exit_codes.h"
#include "db/console/log.h"
#include "db/console/output_file.h"
#include "db/console/shown_text.h"

namespace db {
namespace {

/// Prints the answer to `--help` or `--version`, or the error of the command line.
int answer(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, errors;
  const int code = app.exit(error, out, errors);
  std::cout << out.str();  // flushed() finds out whether all of it was written
  std::fprintf(stderr, "%s", escaped(errors.str(), true).c_str());
  return code == 0 ? kExitDone : kExitWrongUse;
}

/// A misspelt option is told as that, and not as the required one that is then missing.
void parse_command_line(CLI::App& app, int argc, char** argv) try {
  app.parse(argc, argv);
} catch (const CLI::RequiredError&) {
  constexpr bool kOfSubcommands = true;
  std::vector<std::string> unknown = app.remaining(kOfSubcommands);
  if (unknown.empty()) throw;
  std::ranges::reverse(unknown);  // ExtrasError turns them round
  throw CLI::ExtrasError(unknown);
}

}  // namespace

void report_file_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work,
                int (*exit_code)(const std::exception&)) {
  // `PROGRAM ... | head` then ends by an error of write, and in silence.
  std::signal(SIGPIPE, SIG_IGN);
  report_file_size_limit();
  begin_log(app.get_name());
  int code = kExitDone;
  try {
    parse_command_line(app, argc, argv);
    code = work();
  } catch (const CLI::ParseError& error) {
    code = answer(app, error);
  } catch (const OutputError& error) {
    if (!error.closed()) spdlog::error(error.what());
    return error.exit_code;
  } catch (const std::bad_alloc&) {
    code = kExitOutOfMemory;
    spdlog::error("out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    code = kExitFailed;
    spdlog::error("{}: {}", error.path1().string(), error.code().message());
  } catch (const std::exception& error) {
    code = exit_code(error);
    spdlog::error(error.what());
  }
  return flushed(code);
}

}  // namespace db
