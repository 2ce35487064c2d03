#pragma once

#include <limits>

namespace tuner {

/// A transfer of a collective that is under way.
struct Flow {
  int op = 0;
  int call = 0;
  int from = 0, to = 0;                ///< world ranks
  int from_member = 0, to_member = 0;  ///< places in the call
  double bytes_left = 0;
  double rate = 0;
  double began = 0;                                      ///< time
  double end = std::numeric_limits<double>::infinity();  ///< time, at this rate
  bool between_nodes = false;
  double out = 1, in = 1;  ///< Transfer::out and in
  /// Bytes left when it next stops: 0 at its end; more where its receiver has not come, or where
  /// its sender goes on.
  double stop_bytes = 0;
  // Of messages between two ranks that follow each other (channels.h):
  int channel = -1;       ///< -1: it is none of them
  double held_bytes = 0;  ///< the last ones, which wait until the receiver comes
};

}  // namespace tuner
