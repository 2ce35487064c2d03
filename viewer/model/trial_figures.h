#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viewer/model/load.h"

/// What the figures of a trial rest on, in words. No drawing here.
namespace viewer {

/// The lower bound of a trial's iterations.
struct TrialBound {
  double seconds = 0;
  bool is_broken = false;  ///< an iteration took less
};
std::optional<TrialBound> bound_of(const TrialRow& trial);

/// "the stream inter_node of rank 0" of "rank 0 inter_node" (Trial::bounded_by).
std::string bounding_text(const std::string& bounded_by);

/// "1.23x its lower bound", or "iterations from 509 ms on, below its lower bound of 638 ms". Empty
/// where it has no bound or was not measured.
std::string bound_text(const TrialRow& trial);

/// What bounds, as predicted, and whether iterations broke it: a line each.
std::string bound_explanation(const TrialRow& trial);

/// What a speed-up is against, and its interval: a line each.
std::string speedup_explanation(const TrialRow& trial);

}  // namespace viewer
