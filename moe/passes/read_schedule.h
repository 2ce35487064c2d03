#pragma once

#include "moe/input/value.h"
#include "moe/passes/schedule.h"

namespace moe {

/// The schedule of which an object of a larger file is the JSON. Throws as schedule_from_json, but
/// leaves keys that it does not know to the file.
Schedule read_schedule(const InputObject& object);

}  // namespace moe
