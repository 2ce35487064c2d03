#pragma once

#include "db/records.h"

namespace db {

/// The key of a trial's parameters that says which refinement of its study's costs planned it,
/// counted from 1: {"forward_chunks": 2, "refinement": 1}.
inline constexpr char kRefinement[] = "refinement";

/// False for a trial that was planned before any refinement.
bool is_planned_by_refinement(const Trial& trial);

}  // namespace db
