#pragma once

namespace CLI {
class Validator;
}

namespace db::options {

/// Accepts the name of a folder for output: a text that is not empty, has no control characters and
/// is not "-", which is stdout where files are named. Sources that use it include CLI/CLI.hpp.
CLI::Validator folder_name();

}  // namespace db::options
