#pragma once

#include <string>

namespace CLI {
class App;
}

/// The messages of programs. Any code writes them with spdlog::info, warn, error or debug; a
/// program decides once how they look and which levels are shown:
///
///     moe-train: tiny on 2 ranks (CPU, 1 thread), layout dp=1,ep=2 ...
///     moe-train: warning: results.db is locked; training goes on and stores later
///     moe-train: rank 1: experts up needs 3.2 MiB of arena ...
namespace db {

/// From now on spdlog writes lines of this form to stderr, without anything that a terminal acts
/// on. Errors are always shown, other messages from level info on.
void begin_log(const std::string& program);

/// From now on lines also begin with "rank 1:", except those whose text does already.
void log_as_rank(int rank);

/// spdlog::error and info, for sources that nvcc compiles and that therefore do not include spdlog.
void log_error(const std::string& text);
void log_info(const std::string& text);

/// Adds `--quiet` (errors alone) and `--log-level`. They take effect as soon as they are read.
void add_log_options(CLI::App& app);

}  // namespace db
