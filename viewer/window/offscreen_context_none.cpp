#include "viewer/window/offscreen_context.h"

namespace viewer {

struct OffscreenContext::Handles {};

OffscreenContext::OffscreenContext() { throw DisplayError("moe-view was built without EGL"); }

OffscreenContext::~OffscreenContext() = default;

}  // namespace viewer
