#include "viewer/window/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "db/error.h"
#include "viewer/timeline/input.h"

namespace viewer {

namespace {

constexpr ImGuiWindowFlags kFixed =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse;
constexpr int kF1 = 290, kF5 = 294, kEscape = 256;  // GLFW's codes

bool begin_fixed(const char* name, Rect area) {
  ImGui::SetNextWindowPos(area.min);
  ImGui::SetNextWindowSize({area.width(), area.height()});
  return ImGui::Begin(name, nullptr, kFixed);
}

void tab(App& app, const char* name, View view) {
  const bool active = app.view == view;
  ImGui::PushStyleColor(ImGuiCol_Button,
                        ImGui::GetColorU32(active ? ImGuiCol_Header : ImGuiCol_WindowBg));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  if (ImGui::Button(name)) app.view = view;
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

void draw_bar(App& app, Rect area) {
  begin_fixed("bar", area);
  ImGui::AlignTextToFramePadding();
  ImGui::PushFont(app.fonts.bold);
  ImGui::TextColored(ImVec4(theme::kAccent.r, theme::kAccent.g, theme::kAccent.b, 1), "moelab");
  ImGui::PopFont();
  ImGui::SameLine(0, app.fonts.text->FontSize * 1.5F);
  tab(app, "Timeline", View::timeline);
  ImGui::SameLine();
  tab(app, "Loads", View::loads);
  ImGui::SameLine();
  tab(app, "Runs", View::runs);
  ImGui::SameLine(0, app.fonts.text->FontSize * 2);
  if (!app.problem.empty()) {
    ImGui::TextColored(ImVec4(theme::kBad.r, theme::kBad.g, theme::kBad.b, 1), "%s",
                       app.problem.c_str());
  } else if (const RunRow* run = find_run(app.catalog, app.runs.selected)) {
    const char* dash = app.fonts.symbols ? "\u2013" : "-";
    const std::string planner = run->planner.empty() ? "" : ", " + run->planner;
    ImGui::TextDisabled("run %lld  %s  %s %s%s, %d rank%s on %s", static_cast<long long>(run->id),
                        dash, run->kind.c_str(), run->name.c_str(), planner.c_str(), run->ranks,
                        run->ranks == 1 ? "" : "s", run->device.c_str());
  }
  const std::string file = std::filesystem::path(app.connection.path()).filename().string();
  const float button = ImGui::CalcTextSize("? keys").x + 2 * ImGui::GetStyle().FramePadding.x;
  const float right = ImGui::GetWindowWidth() - ImGui::GetStyle().WindowPadding.x;
  ImGui::SameLine(right - button - ImGui::GetStyle().ItemSpacing.x * 2 -
                  ImGui::CalcTextSize(file.c_str()).x);
  ImGui::TextDisabled("%s", file.c_str());
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", app.connection.path().c_str());
  ImGui::SameLine(right - button);
  if (ImGui::Button("? keys")) app.help = !app.help;
  ImGui::End();
}

std::vector<StackEntry> stack_of(const App& app) {
  std::vector<StackEntry> stack;
  for (const std::int64_t id : app.runs.stacked) {
    const auto found = app.timelines.find(id);
    if (found == app.timelines.end()) continue;
    stack.push_back({&found->second, timeline_title(app.catalog, found->second.info)});
  }
  return stack;
}

void draw_empty_timeline(const App& app) {
  ImGui::Spacing();
  if (app.catalog.runs.empty()) {
    ImGui::TextDisabled(
        "This database holds no runs yet: moe-train, moe-tune study and moe-bench write them with "
        "--db.");
  } else if (app.runs.stacked.empty()) {
    ImGui::TextDisabled(
        "No timeline is picked. Tick one in the list on the left; moe-train and moe-tune record "
        "them.");
  } else {
    ImGui::TextDisabled("The picked timelines hold no spans.");
  }
}

constexpr const char* kShowAll = "Show all";
constexpr const char* kOwnAxis = "own time axis each";

float toolbar_width(std::size_t stacked) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = ImGui::CalcTextSize(kShowAll).x + 2 * style.FramePadding.x;
  const float box = style.ItemSpacing.x + ImGui::GetFrameHeight() + style.ItemInnerSpacing.x +
                    ImGui::CalcTextSize(kOwnAxis).x;
  return stacked > 1 ? button + box : button;
}

void draw_timeline_toolbar(App& app, std::size_t stacked) {
  if (ImGui::Button(kShowAll)) app.timeline.fit = true;
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("Home, or F with nothing selected");
  if (stacked > 1) {
    ImGui::SameLine();
    ImGui::Checkbox(kOwnAxis, &app.timeline.own_axis);
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("stretch every timeline to the same width");
  }
}

void draw_timeline_view(App& app, Rect area) {
  const std::vector<StackEntry> stack = stack_of(app);
  const float em = app.fonts.text->FontSize;
  const float details = std::min(em * 13.5F, area.height() * 0.35F);
  const Rect main{area.min, {area.max.x, area.max.y - details - 1}};
  const Rect below{{area.min.x, area.max.y - details}, area.max};

  begin_fixed("timeline", main);
  const bool drawable = stack_extent(stack).length_s() > 0;
  if (drawable) {
    const float toolbar_px = toolbar_width(stack.size());
    ImGui::BeginGroup();
    draw_legend(app.timeline, app.fonts, stack, main.width() - toolbar_px - 2 * em);
    ImGui::EndGroup();
    const ImVec2 after_legend = ImGui::GetCursorPos();
    ImGui::SetCursorPos({main.width() - toolbar_px - ImGui::GetStyle().WindowPadding.x,
                         ImGui::GetStyle().WindowPadding.y});
    draw_timeline_toolbar(app, stack.size());
    ImGui::SetCursorPos(after_legend);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    draw_timelines(app.timeline, app.fonts, stack,
                   {corner, {corner.x + room.x, corner.y + room.y}});
  } else {
    draw_empty_timeline(app);
  }
  ImGui::End();

  begin_fixed("details", below);
  if (drawable) {
    ImGui::BeginChild("selection", {em * 24, 0});
    draw_selection(app.timeline, app.fonts, stack);
    ImGui::EndChild();
    ImGui::SameLine();
    ImGui::BeginChild("figures", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
    draw_summaries(app.timeline, app.fonts, stack);
    ImGui::EndChild();
  }
  ImGui::End();
}

void apply(App& app, const RunPick& pick) {
  if (pick.run) select_run(app, *pick.run);
  if (pick.trial) {
    select_trial(app, *pick.trial);
    app.view = View::timeline;
  }
  if (pick.stack_changed) load_stack(app);
}

void draw_help(App& app) {
  struct Key {
    const char* keys;
    const char* what;
  };
  constexpr Key kKeys[] = {
      {"W  S", "zoom in and out at the mouse (with Shift: faster)"},
      {"A  D", "pan left and right"},
      {"Ctrl + wheel", "zoom at the mouse"},
      {"wheel", "scroll the lanes; with Shift: pan"},
      {"drag", "pan"},
      {"Shift + drag", "mark a range: the figures below are of it alone"},
      {"click", "select a span; the same op is outlined in the other timelines"},
      {"double click", "zoom to the span"},
      {".  ,", "next and previous span of the lane"},
      {"F", "fit the marked range or the selected span; nothing selected: all"},
      {"Home", "show all"},
      {"legend", "hover or click a kind to see it alone; darker shades are gradients"},
      {"Esc", "drop selection, range and highlighted kind"},
      {"1  2  3", "timeline, loads, runs"},
      {"Space, arrows", "loads: play, step through the iterations"},
      {"F5", "read the database again"},
      {"?  F1", "this list"}};
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {24, 18});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 8);
  ImGui::Begin("keys", nullptr,
               ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoDecoration |
                   ImGuiWindowFlags_NoSavedSettings);
  ImGui::PushFont(app.fonts.bold);
  ImGui::TextUnformatted("Keys and mouse");
  ImGui::PopFont();
  ImGui::Spacing();
  for (const Key& key : kKeys) {
    ImGui::TextColored(ImVec4(theme::kAccent.r, theme::kAccent.g, theme::kAccent.b, 1), "%s",
                       key.keys);
    ImGui::SameLine(app.fonts.text->FontSize * 10);
    ImGui::TextUnformatted(key.what);
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

void handle_global_keys(App& app) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantTextInput) return;
  const bool question = std::find(io.InputQueueCharacters.begin(), io.InputQueueCharacters.end(),
                                  ImWchar('?')) != io.InputQueueCharacters.end();
  if (question || ImGui::IsKeyPressed(kF1, false)) app.help = !app.help;
  if (ImGui::IsKeyPressed(kEscape, false)) app.help = false;
  if (ImGui::IsKeyPressed(kF5, false)) reload(app);
  if (ImGui::IsKeyPressed('1', false)) app.view = View::timeline;
  if (ImGui::IsKeyPressed('2', false)) app.view = View::loads;
  if (ImGui::IsKeyPressed('3', false)) app.view = View::runs;
}

// Runs `load`; a database that fails under way is told in the bar, what was loaded stays.
template <typename Load>
void guarded(App& app, const Load& load) {
  try {
    app.problem.clear();
    load();
  } catch (const db::Error& error) {
    app.problem = error.what();
  }
}

}  // namespace

std::optional<View> view_from_name(std::string_view name) {
  if (name == "timeline") return View::timeline;
  if (name == "loads") return View::loads;
  if (name == "runs") return View::runs;
  return std::nullopt;
}

void load_stack(App& app) {
  guarded(app, [&] {
    std::map<std::int64_t, Timeline> kept;
    for (const std::int64_t id : app.runs.stacked) {
      const auto loaded = app.timelines.find(id);
      if (loaded != app.timelines.end()) {
        kept.insert(std::move(*loaded));
        continue;
      }
      const auto info = std::find_if(app.catalog.timelines.begin(), app.catalog.timelines.end(),
                                     [&](const db::Timeline& t) { return t.id == id; });
      if (info != app.catalog.timelines.end())
        kept.emplace(id, load_timeline(app.connection, *info));
    }
    app.timelines = std::move(kept);
  });
  reset_stack(app.timeline);
}

void select_run(App& app, std::int64_t run_id) {
  app.runs.selected = run_id;
  app.runs.stacked = default_stack(app.catalog, run_id);
  guarded(app, [&] { app.run = load_run(app.connection, run_id); });
  load_stack(app);
}

void select_trial(App& app, std::int64_t trial_id) {
  const TrialRow* trial = find_trial(app.catalog, trial_id);
  if (trial != nullptr && !trial->runs.empty()) select_run(app, trial->runs.back());
  app.runs.stacked = trial_stack(app.catalog, trial_id);
  load_stack(app);
}

void reload(App& app) {
  guarded(app, [&] {
    app.catalog = load_catalog(app.connection);
    app.timelines.clear();
    app.timeline.styles.clear();
    if (app.runs.selected != 0) app.run = load_run(app.connection, app.runs.selected);
  });
  if (app.runs.selected == 0) {
    if (const std::optional<std::int64_t> run = first_run(app.catalog)) select_run(app, *run);
  }
  load_stack(app);
}

App open_app(const db::Connection& connection, const Start& start) {
  App app{connection, {}, start.view, false, "", load_catalog(connection), {}, {}, {}, {}, {}};
  const std::optional<std::int64_t> run = start.run ? start.run : first_run(app.catalog);
  if (start.run && find_run(app.catalog, *start.run) == nullptr) {
    throw db::Error(db::ErrorKind::not_found,
                    fmt::format("{}: there is no run {}", connection.path(), *start.run));
  }
  if (run) select_run(app, *run);
  if (!start.timelines.empty()) {
    for (const std::int64_t id : start.timelines) {
      const bool known =
          std::any_of(app.catalog.timelines.begin(), app.catalog.timelines.end(),
                      [&](const db::Timeline& timeline) { return timeline.id == id; });
      if (!known) {
        throw db::Error(db::ErrorKind::not_found,
                        fmt::format("{}: there is no timeline {}", connection.path(), id));
      }
    }
    app.runs.stacked = start.timelines;
    load_stack(app);
  }
  return app;
}

bool is_animating(const App& app) {
  return (app.view == View::loads && app.loads.playing) ||
         (app.view == View::timeline && is_moving());
}

void draw_app(App& app) {
  handle_global_keys(app);
  const float em = app.fonts.text->FontSize;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float bar = ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().WindowPadding.y;
  draw_bar(app, {{0, 0}, {display.x, bar}});
  const Rect below{{0, bar + 1}, display};

  if (app.view == View::runs) {
    begin_fixed("tables", below);
    apply(app, draw_run_tables(app.runs, app.fonts, app.catalog));
    ImGui::End();
  } else {
    const float left = std::min(em * 24, display.x * 0.3F);
    begin_fixed("list", {below.min, {left, display.y}});
    apply(app, draw_run_list(app.runs, app.fonts, app.catalog));
    ImGui::End();
    const Rect main{{left + 1, below.min.y}, display};
    if (app.view == View::timeline) {
      draw_timeline_view(app, main);
    } else {
      begin_fixed("loads", main);
      draw_loads(app.loads, app.fonts, app.run);
      ImGui::End();
    }
  }
  if (app.help) draw_help(app);
}

}  // namespace viewer
