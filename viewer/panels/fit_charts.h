#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/records.h"
#include "viewer/model/fit_samples.h"
#include "viewer/model/session.h"
#include "viewer/window/plot.h"

/// A fitted line with its samples, and how activities slow each other down. Parts of the fits
/// panel.
namespace viewer {

/// The spans of the stacked measured timelines whose ops the fit predicts, one for each size: its
/// shortest, without waiting.
std::vector<FitSample> stacked_samples(const db::Fit& fit, const Session& session);

/// Times of the samples over their sizes with the line, on logarithmic axes, and beside it how far
/// each is from the line. `fitted` are those that it was fitted to. Sizes that the stacked timelines
/// use are marked.
void draw_fit_charts(const Fonts& fonts, const db::Fit& fit, const std::vector<FitSample>& fitted,
                     const std::vector<FitSample>& stacked, Rect area);

void draw_interference(const Fonts& fonts, const InterferenceMatrix& matrix, Rect area);

}  // namespace viewer
