#pragma once

#include <string>

namespace viewer {

/// What another panel asks the panel of fits to show. One of the panels' states.
struct FitChoice {
  std::string op;  ///< part of an op's name; empty where nothing is asked
};

}  // namespace viewer
