#pragma once

#include <vector>

#include "viewer/model/link_maps.h"
#include "viewer/window/plot.h"

/// How fast bytes went between computers or ranks, from rows to columns. Part of the runs panel.
namespace viewer {

/// The maps beside each other, and above each what is slow in words.
void draw_link_maps(const Fonts& fonts, const std::vector<LinkMap>& maps, Rect area);

}  // namespace viewer
