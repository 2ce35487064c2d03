#pragma once

#include <filesystem>
#include <string>

#include "db/console/output_error.h"

/// What a name that was given for output leads to.
namespace db {

/// The folder that a file is in; "." for a name alone.
std::filesystem::path directory_of(const std::filesystem::path& path);

/// N of /dev/fd/N, /proc/self/fd/N and links to them (/dev/stdout); -1 for any other name.
int own_descriptor(const std::filesystem::path& path);

/// Follows links; the last one may name a file that does not exist. The name of a descriptor of
/// this process stays as it is.
std::filesystem::path follow_links(std::filesystem::path path);

/// Throws OutputError (wrong use) with `name` where `target` is a SQLite database, or has the name
/// of a file that SQLite keeps beside one.
void refuse_database(const std::string& name, const std::filesystem::path& target);

/// The OutputError of a file or folder that cannot be opened or made, with this errno. Its name is
/// wrong then, unless the disk is full.
OutputError open_error(const std::string& name, int code);

/// True where both paths lead to the same file, or would if it were made.
bool same_file(const std::string& a, const std::string& b);

}  // namespace db
