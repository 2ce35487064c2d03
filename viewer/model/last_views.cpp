#include "viewer/model/last_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "db/console/output_file.h"

namespace viewer {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostViewBytes = 1 << 20;  // far more than kMostViews views take
constexpr std::size_t kMostText = 4096;          // of a path or a list of ranks
constexpr std::size_t kMostTimelines = 64;

// A folder that the environment names; the standard has relative ones ignored.
fs::path folder_of(const char* variable) {
  const char* value = std::getenv(variable);
  const fs::path folder = value == nullptr ? "" : value;
  return folder.is_absolute() ? folder : fs::path();
}

Json to_json(const LastView& view) {
  Json json = {{"path", view.path},
               {"latest_run", view.latest_run},
               {"run", view.run},
               {"timelines", view.timelines},
               {"panel", view.panel},
               {"table", view.table},
               {"own_axis", view.own_axis},
               {"ranks", view.ranks},
               {"rank_order", view.rank_order}};
  if (view.range) json["range_s"] = {view.range->begin_s, view.range->end_s};
  return json;
}

bool is_sound(const LastView& view) {
  const bool is_range = !view.range || (std::isfinite(view.range->end_s - view.range->begin_s) &&
                                        view.range->begin_s < view.range->end_s);
  return fs::path(view.path).is_absolute() && view.path.size() <= kMostText &&
         view.ranks.size() <= kMostText && view.timelines.size() <= kMostTimelines && is_range;
}

// Throws nlohmann's errors where a value has another type.
LastView view_from(const Json& json) {
  LastView view;
  view.path = json.at("path").get<std::string>();
  view.latest_run = json.value("latest_run", view.latest_run);
  view.run = json.value("run", view.run);
  view.timelines = json.value("timelines", view.timelines);
  view.panel = json.value("panel", view.panel);
  view.table = json.value("table", view.table);
  view.own_axis = json.value("own_axis", view.own_axis);
  view.ranks = json.value("ranks", view.ranks);
  view.rank_order = json.value("rank_order", view.rank_order);
  if (json.contains("range_s")) {
    view.range =
        TimeRange{json["range_s"].at(0).get<double>(), json["range_s"].at(1).get<double>()};
  }
  return view;
}

LastViews views_from(const std::string& text) {
  const Json json = Json::parse(text);
  LastViews kept;
  const float zoom = json.value("zoom", 1.0F);
  if (zoom >= 0.5F && zoom <= 4) kept.zoom = zoom;
  for (const Json& one : json.at("views")) {
    LastView view = view_from(one);
    if (is_sound(view) && kept.views.size() < kMostViews) kept.views.push_back(std::move(view));
  }
  return kept;
}

}  // namespace

fs::path last_views_file() {
  fs::path folder = folder_of("XDG_STATE_HOME");
  if (folder.empty()) {
    folder = folder_of("HOME");
    if (folder.empty()) return {};
    folder /= ".local/state";
  }
  return folder / "moelab" / "viewer.json";
}

LastViews read_last_views(const fs::path& file) {
  LastViews none;
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return none;
  const std::size_t bytes = fs::is_regular_file(file, error) ? fs::file_size(file, error) : 0;
  std::ifstream stream(file, std::ios::binary);
  if (bytes == 0 || error || bytes > kMostViewBytes || !stream) {
    none.problem =
        fmt::format("{} cannot be read: what was shown last is not known", file.string());
    return none;
  }
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  try {
    return views_from(text);
  } catch (const Json::exception&) {
    none.problem = fmt::format("{} is damaged: what was shown last is not known", file.string());
  }
  return none;
}

void remember_view(const fs::path& file, const LastView& view, float zoom) {
  if (file.empty() || !is_sound(view)) return;
  LastViews kept = read_last_views(file);
  std::erase_if(kept.views, [&](const LastView& one) { return one.path == view.path; });
  kept.views.insert(kept.views.begin(), view);
  kept.views.resize(std::min(kept.views.size(), kMostViews));
  Json json = {{"zoom", zoom}, {"views", Json::array()}};
  for (const LastView& one : kept.views) json["views"].push_back(to_json(one));
  std::error_code exists;
  fs::create_directories(file.parent_path(), exists);
  // Bytes of a path that are no UTF-8 are replaced: that file will not be found again.
  db::write_output(file.string(), json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

const LastView* find_view(const LastViews& views, const std::string& path) {
  const auto found = std::find_if(views.views.begin(), views.views.end(),
                                  [&](const LastView& view) { return view.path == path; });
  return found == views.views.end() ? nullptr : &*found;
}

}  // namespace viewer
