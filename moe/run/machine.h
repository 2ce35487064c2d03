#pragma once

#include "db/records.h"

namespace moe {

/// This computer as a row of the database, with its GPUs and the libraries that this build computes
/// and communicates with. It does not depend on the program or the device in use, so that one
/// machine is one row.
db::Machine this_machine();

}  // namespace moe
