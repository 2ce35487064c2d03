#pragma once

#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// The newest finished trainings of the study's model on as many ranks, the newest first, at most
/// 64. Throws db::Error.
std::vector<db::Run> stored_trainings(const db::Connection& connection, const db::Study& study);

}  // namespace tuner
