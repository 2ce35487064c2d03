#pragma once

#include <string>

#include "moe/model/layout_refusal.h"

namespace moe {

/// Ways that would work instead, each tried by itself: a layout of as many ranks, other numbers
/// of ranks with their layouts, changes of the model. "--layout dp=3,ep=1 or --ranks 2 --layout
/// ep=2 or global_batch = 15"; "" where nothing near would.
std::string layout_way_out(const Model& model, const Layout& layout, const LayoutRefusal& refusal);

}  // namespace moe
