#pragma once

#include "viewer/model/rank_loads.h"
#include "viewer/window/plot.h"

/// What ranks had to compute, before and after placement. A part of the loads panel.
namespace viewer {

/// Bars for each rank: the tokens of its experts, as asked for (outlined) and as kept, and those
/// that it computed after placement. The key has the max/mean of each; below it stands which
/// experts were replicated where.
void draw_rank_bars(const Fonts& fonts, const LayerRanks& layer, int layer_number, Rect area);

}  // namespace viewer
