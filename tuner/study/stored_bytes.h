#pragma once

#include <optional>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// The bytes of a database that are in use.
double used_bytes(const db::Connection& connection);

/// How many bytes a training of the study's model takes in the database, with its losses, loads and
/// timelines: the mean of the newest ones that are stored; those of `steps` iterations where there
/// are any. None where there is no training of it. Removes them, to see what becomes free: only for a
/// copy (db/memory_copy.h).
std::optional<double> bytes_of_training(const db::Connection& copy, const db::Study& study,
                                        int steps);

}  // namespace tuner
