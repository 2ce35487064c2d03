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
  bool at_own_pace = false;  ///< for computation as slow as in the trial; else as predicted
  bool is_broken = false;    ///< an iteration took less
};
std::optional<TrialBound> bound_of(const TrialRow& trial);

/// "the stream inter_node of rank 0" of "rank 0 inter_node" (Trial::bounded_by).
std::string bounding_text(const std::string& bounded_by);

/// "1.23x its lower bound", or "iterations from 509 ms on, below its lower bound of 638 ms". Empty
/// where it has no bound or was not measured.
std::string bound_text(const TrialRow& trial);

/// At which pace the bound is, what bounds, and whether iterations broke it: a line each.
std::string bound_explanation(const TrialRow& trial);

/// What a speed-up is against, its interval, and at which paces: a line each.
std::string speedup_explanation(const TrialRow& trial);

/// "Unequal machines: for joint, sequential computed 1.76 times as slowly: 1.43x on equal machines. 3
/// other speed-ups too." of the fastest of the trials that have such a speed-up. Empty where none
/// has.
std::string unequal_text(const std::vector<const TrialRow*>& trials);

}  // namespace viewer
