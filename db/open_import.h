#pragma once

#include <fstream>
#include <string>

namespace db {

/// Opens a text that is to be imported, behind its mark of UTF-8 where it has one. Throws Error:
/// not_found where it cannot be read; invalid for a folder, for a device, which may have a line
/// without end, and for UTF-16 and binary files, which their first bytes tell.
std::ifstream open_import(const std::string& path);

}  // namespace db
