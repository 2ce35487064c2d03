#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// Expert loads of a run: layer x expert at one iteration, one layer over all iterations, balance,
/// losses.
namespace viewer {

struct LoadPanel {
  std::size_t iteration =
      0;  ///< index among those with stored loads, or among all where none are stored
  std::size_t layer = 0;         ///< index among the MoE layers
  bool is_layer_chosen = false;  ///< by a person; else the least even one is shown
  bool playing = false;
  double until_next_s = 0;     ///< time left until the slider moves while playing
  bool asked = false;          ///< what the gates asked for, not what was kept
  bool shared_scale = true;    ///< one colour scale for all iterations, not one for each
  std::int64_t shown_run = 0;  ///< the run that the indices belong to
  std::size_t shown_iterations = 0;

  std::optional<int> asked_timeline;  ///< the iteration whose timeline is to be shown

  // Kept from frame to frame; see refresh() in loads.cpp.
  std::int64_t bright = 0;  ///< tokens at the bright end of the shared scale
  bool open_ended = false;  ///< whether some entries exceed it
};

}  // namespace viewer
