#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/model/setup_list.h"

namespace viewer {

/// What the panel of setups shows.
struct SetupPanel {
  std::vector<db::SetupOverview> setups;
  std::vector<SetupGroup> groups;       ///< of `setups`
  std::size_t group = 0;                ///< that is shown
  std::optional<std::size_t> selected;  ///< of the group
  /// The selected run when `group` was chosen: a search that is selected later is shown.
  std::int64_t of_run = 0;

  int catalog_changes = -1;  ///< of the session when `setups` were read
};

}  // namespace viewer
