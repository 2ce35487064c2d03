#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "viewer/model/setup_list.h"

namespace viewer {

/// What the panel of setups shows.
struct SetupPanel {
  std::vector<db::SetupOverview> setups;
  std::vector<SetupGroup> groups;  ///< of `setups`
  /// The group that is shown. None: that of the selected run, where it is a search, else the first.
  std::optional<std::size_t> group;
  std::optional<std::size_t> selected;  ///< of the group

  int catalog_changes = -1;  ///< of the session when `setups` were read
};

}  // namespace viewer
