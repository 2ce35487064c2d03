#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/records.h"
#include "viewer/model/session.h"
#include "viewer/window/plot.h"

/// A fitted line with its samples, and how activities slow each other down. Parts of the fits
/// panel.
namespace viewer {

/// A size in the fit's unit and the time that it took.
struct FitSample {
  double units = 0;
  double seconds = 0;
};

/// The measurements of microbenchmarks that a fit is of.
std::vector<FitSample> measured_samples(const db::Fit& fit,
                                        const std::vector<db::Measurement>& measurements);

/// The spans of the stacked measured timelines whose ops the fit predicts, one for each size.
std::vector<FitSample> stacked_samples(const db::Fit& fit, const Session& session);

/// Seconds that the line gives for a size.
double fitted_s(const db::Fit& fit, double units);

/// Times of the samples over their sizes with the line, on logarithmic axes, and beside it how far
/// each is from the line. Sizes that the stacked timelines use are marked.
void draw_fit_charts(const Fonts& fonts, const db::Fit& fit, const std::vector<FitSample>& measured,
                     const std::vector<FitSample>& stacked, Rect area);

/// The share of its speed that each activity keeps while another runs beside it.
struct InterferenceMatrix {
  std::vector<std::string> activities;
  /// [activity][beside]; none where it was not measured.
  std::vector<std::vector<std::optional<double>>> speed;
};

/// From the newest measurements of interference.
InterferenceMatrix interference_matrix(const std::vector<db::Measurement>& measurements);

void draw_interference(const Fonts& fonts, const InterferenceMatrix& matrix, Rect area);

}  // namespace viewer
