#pragma once

#include <optional>

#include "db/connection.h"
#include "db/records.h"

/// What stored trainings of a study's model tell of those to come.
namespace tuner {

/// The seconds that a training of the study takes beside its iterations: until its ranks run, and
/// for all that these do before and after. The median of those that are stored, or where it has
/// none yet, of earlier trainings of its model; 0 where there is none of these either.
double seconds_beside_iterations(const db::Connection& connection, const db::Study& study);

/// The bytes of a database that are in use.
double used_bytes(const db::Connection& connection);

/// How many bytes a training of the study's model takes in the database, with its losses, loads and
/// timelines: the mean of the newest ones that are stored; those of `steps` iterations where there
/// are any. None where there is no training of it. Removes them, to see what becomes free: only for
/// a copy (db/memory_copy.h).
std::optional<double> bytes_of_training(const db::Connection& copy, const db::Study& study,
                                        int steps);

}  // namespace tuner
