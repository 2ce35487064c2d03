#include "viewer/report/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "db/load_views.h"
#include "db/timeline/read_timeline.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/setups.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

constexpr int kWidth = 1600, kHeight = 1000;
constexpr int kTallest = 3200;
constexpr int kSettlingFrames = 4;  // layout and column widths of tables take a few

constexpr const char* kMemoryCaption =
    "The memory of the fullest rank over the iteration, above the lanes of each schedule: what is "
    "in use as an area (what lives over iterations darker), the height of the planned memory and "
    "what the run really touched as lines. The table lists what stands at the peak.";

struct Caption {
  std::string_view panel;
  const char* text;
};

constexpr std::array kCaptions = {
    Caption{"timeline",
            "One iteration of each schedule on one axis, a lane for each stream of a rank. "
            "Computation is blue to violet, communication yellow to orange; where a lane is "
            "empty, nothing ran. Communication above which nothing is computed is exposed."},
    Caption{"loads",
            "How many tokens the gates sent to each expert, how even that was, and the loss of the "
            "training."},
    Caption{"runs",
            "The trainings and benchmarks of this database, and the trials of its studies."},
    Caption{"trials",
            "The schedules of the study. Left: each prediction with its deviation against the "
            "measurement with the range of its repeats; on the dashed line both are equal. Right: "
            "time against memory; the red line is the lowest bound."},
    Caption{"setups",
            "The layouts, micro-batches and schedules that a search found. Left: time against the "
            "memory of the fullest rank; the line is the front: what is above it and to its right "
            "is beaten in both. Right: what that memory consists of."},
    Caption{"fits",
            "The lines from which costs are predicted: time = start-up + size / rate. What is "
            "doubtful is marked."}};

std::string caption_of(const Panel& panel) {
  const auto found = std::find_if(kCaptions.begin(), kCaptions.end(), [&](const Caption& caption) {
    return caption.panel == panel.name;
  });
  return found == kCaptions.end() ? panel.title : found->text;
}

// As tall as its lanes can be read, below the title of each timeline and above the tables.
int height_of(const Panel& panel, const Session& session, bool with_memory) {
  if (std::string_view(panel.name) != "timeline") return kHeight;
  constexpr int kAround = 400, kHeader = 48, kLane = 34, kStrip = 108;
  std::size_t lanes = 0;
  for (const auto& [id, timeline] : session.timelines) lanes += timeline.lanes.size();
  const int header = kHeader + (with_memory ? kStrip : 0);
  const auto needed = kAround + header * static_cast<int>(session.timelines.size()) +
                      kLane * static_cast<int>(std::min<std::size_t>(lanes, kTallest));
  return std::clamp(needed, kHeight * 2 / 3, kTallest);
}

// Whether the database has the memory of a stacked timeline.
bool knows_memory(const Session& session) {
  return std::any_of(session.timelines.begin(), session.timelines.end(), [&](const auto& of) {
    return !read_memory(session.connection, of.second.info).ranks.empty();
  });
}

Picture draw_panel(const Panel& panel, PanelStates& states, Session& session, Window& window) {
  const bool with_memory = states.of<TimelinePanel>().figures == Figures::memory;
  const int height = height_of(panel, session, with_memory);
  const auto draw = [&] {
    PanelContext context{session, window.fonts(), states};
    panel.draw(context, {{0, 0}, {static_cast<float>(kWidth), static_cast<float>(height)}});
  };
  return {std::string(panel.name) + ".png", caption_of(panel), kWidth, height,
          encode_png(window.render(draw, kWidth, height, kSettlingFrames))};
}

}  // namespace

std::vector<Picture> draw_panels(Session& session, Window& window) {
  std::vector<Picture> pictures;
  for (const Panel& panel : all_panels()) {
    const bool is_of_searches = std::string_view(panel.name) == "setups";
    if (is_of_searches && db::load_setup_overviews(session.connection).empty()) continue;
    PanelStates states;
    pictures.push_back(draw_panel(panel, states, session, window));
    if (std::string_view(panel.name) == "timeline" && knows_memory(session)) {
      states.of<TimelinePanel>().figures = Figures::memory;
      pictures.push_back(draw_panel(panel, states, session, window));
      pictures.back().file = "memory.png";
      pictures.back().caption = kMemoryCaption;
    }
  }
  return pictures;
}

std::vector<Picture> draw_setups(Session& session, Window& window, std::int64_t run) {
  const std::vector<db::SetupOverview> setups = db::load_setup_overviews(session.connection);
  const std::vector<SetupGroup> groups = setup_groups(setups);
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].front().setup.run_id != run) continue;
    PanelStates states;
    auto& panel = states.of<SetupPanel>();
    panel.group = i;
    panel.of_run = session.selected_run;
    pictures.push_back(draw_panel(*find_panel("setups"), states, session, window));
    if (pictures.size() > 1) pictures.back().file = fmt::format("setups-{}.png", pictures.size());
  }
  return pictures;
}

}  // namespace viewer
