#pragma once

#include "db/records.h"

namespace moe {

/// This computer as the database knows it, with its GPUs and the libraries this build computes and
/// communicates with. The same whichever program asks and whichever device it uses, so that one
/// machine is one row.
db::Machine this_machine();

}  // namespace moe
