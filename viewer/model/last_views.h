#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/time_range.h"

/// What the viewer remembers from one use to the next: the files that were open, and what was shown
/// of them. No drawing here.
namespace viewer {

/// What was last shown of one database.
struct LastView {
  std::string path;             ///< absolute
  std::int64_t latest_run = 0;  ///< the run that is shown without being asked for, at that time
  std::int64_t run = 0;         ///< 0 for none
  std::vector<std::int64_t> timelines = {};       ///< those that were stacked
  std::string panel = {};                         ///< name of the tab
  std::string table = {};                         ///< name of the table below the timelines
  std::optional<TimeRange> range = std::nullopt;  ///< axis seconds; none where all was shown
  bool own_axis = false;
  std::string ranks = {};       ///< see RankChoice
  std::string rank_order = {};  ///< likewise
  bool operator==(const LastView&) const = default;
};

struct LastViews {
  std::vector<LastView> views;  ///< one per file, the latest first
  float zoom = 1;               ///< of text and spacing
  std::string problem = {};     ///< why what was kept cannot be read; empty where it can
};

/// The most files that are remembered.
inline constexpr std::size_t kMostViews = 32;

/// Where views are kept: moelab/viewer.json in $XDG_STATE_HOME, which is ~/.local/state where it is
/// not set. Empty where there is no home.
std::filesystem::path last_views_file();

/// What was kept. A file that is damaged, or larger than any that the viewer writes, is ignored:
/// `problem` says so. No file is no problem.
LastViews read_last_views(const std::filesystem::path& file);

/// Puts a view in front of what the file keeps, with the zoom. The file is read again first, as
/// another window may have written it, and replaced as a whole. Throws db::OutputError.
void remember_view(const std::filesystem::path& file, const LastView& view, float zoom);

/// Null where the file was never open.
const LastView* find_view(const LastViews& views, const std::string& path);

}  // namespace viewer
