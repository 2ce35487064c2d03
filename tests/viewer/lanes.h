#pragma once

#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"
#include "viewer/model/timeline.h"

namespace viewer {

using db::hand_timeline;
using db::HandSpan;
using db::random_timeline;

}  // namespace viewer
