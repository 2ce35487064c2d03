#pragma once

#include <string>

#include "db/connection.h"

/// A database has one place: the file that the process which starts ranks has opened. Rank 0 writes
/// it by the same path, perhaps on another computer.
namespace moe {

/// Lets the ranks that this process starts know which file it has opened.
void tell_ranks(const db::Connection& connection);

/// On rank 0, before it writes the database: throws InputError, with both computers, where the
/// process that started the ranks has opened another file of this path. Ranks that nobody told
/// anything, as those that srun starts, write where rank 0 is.
void expect_database_of_launcher(const std::string& path);

}  // namespace moe
