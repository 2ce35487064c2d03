#include "viewer/app/workspace.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "db/console/output_file.h"
#include "db/error.h"
#include "viewer/model/catalog.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/fixed_window.h"

namespace viewer {

namespace {

namespace fs = std::filesystem;

constexpr int kTab = 258;  // GLFW's code
constexpr double kKeepEvery_s = 5;

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : absolute.string();
}

// Shows what was shown last, as far as it is still there. Results that came since then are shown
// instead of it.
void show_again(App& app, const LastView& last) {
  if (find_panel(last.panel) != nullptr) show_panel(app, last.panel);
  const std::vector<std::string> tables = figures_names();
  if (std::find(tables.begin(), tables.end(), last.table) != tables.end()) {
    show_figures(app, last.table);
  }
  try {
    show_ranks(app, last.ranks, last.rank_order);
  } catch (const UnknownView&) {
    app.states.of<TimelinePanel>().ranks.choice = {};
  }
  app.states.of<TimelinePanel>().own_axis = last.own_axis;
  Session& session = app.session;
  const bool is_there = find_run(session.catalog, last.run) != nullptr;
  if (!is_there || first_run(session.catalog) != last.latest_run) return;
  if (session.selected_run != last.run) select_run(session, last.run);
  std::vector<std::int64_t> there;
  for (const db::TimelineInfo& timeline : session.catalog.timelines) there.push_back(timeline.id);
  const bool all_there = std::all_of(
      last.timelines.begin(), last.timelines.end(),
      [&](std::int64_t id) { return std::find(there.begin(), there.end(), id) != there.end(); });
  if (!all_there) return;
  if (session.stacked != last.timelines) {
    session.stacked = last.timelines;
    load_stack(session);
  }
  session.first_view = last.range;
}

// The text of a tab: the file's name, with its folder where another tab has the same name.
std::string tab_title(const Workspace& workspace, std::size_t tab) {
  const fs::path path = workspace.open[tab]->connection.path();
  const auto others = std::count_if(workspace.open.begin(), workspace.open.end(), [&](auto& one) {
    return fs::path(one->connection.path()).filename() == path.filename();
  });
  return others > 1 ? (path.parent_path().filename() / path.filename()).string()
                    : path.filename().string();
}

void draw_tabs(Workspace& workspace, const Fonts& fonts, float height) {
  begin_fixed("files", {{0, 0}, {ImGui::GetIO().DisplaySize.x, height}});
  const float em = fonts.text->FontSize;
  const float room = ImGui::GetContentRegionAvail().x / static_cast<float>(workspace.open.size());
  for (std::size_t tab = 0; tab < workspace.open.size(); ++tab) {
    const bool is_shown = tab == workspace.active;
    if (tab > 0) ImGui::SameLine();
    ImGui::PushID(static_cast<int>(tab));
    ImGui::PushStyleColor(ImGuiCol_Button,
                          ImGui::GetColorU32(is_shown ? ImGuiCol_Header : ImGuiCol_WindowBg));
    const std::string title =
        elided(*fonts.text, tab_title(workspace, tab), std::min(room - 2 * em, em * 24));
    if (ImGui::Button(title.empty() ? "-" : title.c_str())) workspace.active = tab;
    if (ImGui::IsItemHovered()) {
      ImGui::SetTooltip("%s", workspace.open[tab]->connection.path().c_str());
    }
    ImGui::PopStyleColor();
    ImGui::PopID();
  }
  ImGui::End();
}

// The files that were open before, and a field for the path of another. Returns the one to open.
std::string draw_files(Workspace& workspace, const Fonts& fonts, float width) {
  std::string picked;
  ImGui::SetNextItemWidth(width);
  const bool entered = ImGui::InputTextWithHint(
      "##path", "path of a database", &workspace.path_typed, ImGuiInputTextFlags_EnterReturnsTrue);
  if (entered) picked = std::exchange(workspace.path_typed, {});
  for (const LastView& view : workspace.last.views) {
    const std::string text = elided(*fonts.text, view.path, width);
    if (ImGui::Selectable(text.c_str(), false, 0, {width, 0})) picked = view.path;
    if (ImGui::IsItemHovered() && text != view.path) ImGui::SetTooltip("%s", view.path.c_str());
  }
  return picked;
}

// What is shown while no database is open.
void draw_start(Workspace& workspace, const Fonts& fonts) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  begin_fixed("start", {{0, 0}, display});
  const float em = fonts.text->FontSize;
  const float width = std::min(em * 50, display.x - em * 4);
  ImGui::SetCursorPos({(display.x - width) / 2, display.y * 0.12F});
  ImGui::BeginGroup();
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted("moelab: results of training and tuning");
  ImGui::PopFont();
  ImGui::TextDisabled("Drop a database on this window, or pick one.");
  if (!workspace.problem.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kBad));
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
    ImGui::TextUnformatted(workspace.problem.c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
  }
  ImGui::Spacing();
  const std::string picked = draw_files(workspace, fonts, width);
  ImGui::EndGroup();
  ImGui::End();
  if (!picked.empty()) open_picked(workspace, picked);
}

void draw_file_list(Workspace& workspace, App& app, const Fonts& fonts) {
  if (std::exchange(app.wants_files, false)) ImGui::OpenPopup("list of files");
  const float width = std::min(fonts.text->FontSize * 40, ImGui::GetIO().DisplaySize.x * 0.8F);
  ImGui::SetNextWindowPos(
      {ImGui::GetIO().DisplaySize.x, app.top_px + ImGui::GetFrameHeight() * 1.5F}, ImGuiCond_Always,
      {1, 0});
  if (!ImGui::BeginPopup("list of files")) return;
  ImGui::TextDisabled("open in a tab of its own; a file dropped on the window does the same");
  const std::string picked = draw_files(workspace, fonts, width);
  if (!picked.empty()) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
  if (!picked.empty()) open_picked(workspace, picked);
}

void handle_tab_keys(Workspace& workspace) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!io.KeyCtrl || workspace.open.empty()) return;
  const std::size_t count = workspace.open.size();
  if (ImGui::IsKeyPressed(kTab, true)) {
    workspace.active = (workspace.active + (io.KeyShift ? count - 1 : 1)) % count;
  }
  if (io.WantTextInput) return;
  if (ImGui::IsKeyPressed('O', false)) workspace.open[workspace.active]->app.wants_files = true;
  if (ImGui::IsKeyPressed('W', false)) close_active(workspace);
}

void keep(Workspace& workspace, OpenDatabase& database) {
  LastView view = view_of(database.app);
  if (workspace.memory.empty() || database.kept == view) return;
  database.kept = view;
  try {
    remember_view(workspace.memory, view, workspace.zoom);
  } catch (const db::OutputError& error) {
    workspace.memory.clear();  // said once, not every few seconds
    database.app.session.problem = fmt::format("this view is not saved: {}", error.what());
  }
  std::erase_if(workspace.last.views, [&](const LastView& one) { return one.path == view.path; });
  workspace.last.views.insert(workspace.last.views.begin(), std::move(view));
}

}  // namespace

OpenDatabase::OpenDatabase(const std::string& path, const Start& start)
    : connection(db::open_reader(path)), app{open_session(connection, start, true)} {
  app.watch.emplace(connection);
}

Workspace make_workspace(std::filesystem::path memory) {
  Workspace workspace;
  workspace.last = read_last_views(memory);
  workspace.memory = std::move(memory);
  workspace.zoom = workspace.last.zoom;
  workspace.problem = workspace.last.problem;
  return workspace;
}

App* shown_app(Workspace& workspace) {
  return workspace.open.empty() ? nullptr : &workspace.open[workspace.active]->app;
}

void open_database(Workspace& workspace, const std::string& path, const Opening& opening) {
  const std::string absolute = absolute_path(path);
  const auto tab = std::find_if(
      workspace.open.begin(), workspace.open.end(),
      [&](const auto& open) { return absolute_path(open->connection.path()) == absolute; });
  if (tab != workspace.open.end()) {
    workspace.active = static_cast<std::size_t>(tab - workspace.open.begin());
    const std::optional<DatabaseWatch>& watch = (*tab)->app.watch;
    if (!watch || !watch->is_replaced()) return;
    keep(workspace, **tab);
  }
  auto database = std::make_unique<OpenDatabase>(path, opening.start);
  if (!opening.panel.empty()) show_panel(database->app, opening.panel);
  if (!opening.table.empty()) show_figures(database->app, opening.table);
  show_ranks(database->app, opening.ranks, opening.rank_order);
  const LastView* last = find_view(workspace.last, absolute);
  if (last != nullptr && !opening.is_asked) show_again(database->app, *last);
  if (!workspace.problem.empty())
    database->app.session.problem = std::exchange(workspace.problem, {});
  if (tab != workspace.open.end()) {  // its file is another one now
    *tab = std::move(database);
    return;
  }
  workspace.open.push_back(std::move(database));
  workspace.active = workspace.open.size() - 1;
}

void open_picked(Workspace& workspace, const std::string& path) {
  try {
    open_database(workspace, path, {});
    workspace.problem.clear();
    return;
  } catch (const db::Error& error) {
    workspace.problem = error.what();
  }
  if (App* app = shown_app(workspace)) app->session.problem = std::exchange(workspace.problem, {});
}

void close_active(Workspace& workspace) {
  if (workspace.open.empty()) return;
  keep(workspace, *workspace.open[workspace.active]);
  workspace.open.erase(workspace.open.begin() + static_cast<std::ptrdiff_t>(workspace.active));
  if (workspace.active > 0 && workspace.active == workspace.open.size()) --workspace.active;
}

LastView view_of(App& app) {
  const auto& panel = app.states.of<TimelinePanel>();
  LastView view;
  view.path = absolute_path(app.session.connection.path());
  view.latest_run = first_run(app.session.catalog).value_or(0);
  view.run = app.session.selected_run;
  view.timelines = app.session.stacked;
  view.panel = app.panel->name;
  view.table = figures_name(panel.figures);
  view.own_axis = panel.own_axis;
  view.ranks = panel.ranks.choice.ranks;
  view.rank_order = rank_order_name(panel.ranks.choice.order);
  if (!panel.fit && !panel.is_all_shown && panel.view.length_s() > 0) view.range = panel.view;
  return view;
}

void keep_views(Workspace& workspace) {
  for (const auto& database : workspace.open) keep(workspace, *database);
}

void draw_workspace(Workspace& workspace, const Fonts& fonts) {
  handle_tab_keys(workspace);
  App* app = shown_app(workspace);
  if (app == nullptr) {
    draw_start(workspace, fonts);
    return;
  }
  const bool several = workspace.open.size() > 1;
  const float height =
      several ? ImGui::GetFrameHeight() + ImGui::GetStyle().WindowPadding.y * 1.5F : 0;
  app->fonts = fonts;
  app->zoom = workspace.zoom;
  app->top_px = height;
  draw_app(*app);
  workspace.zoom = app->zoom;
  draw_file_list(workspace, *app, fonts);
  if (several) draw_tabs(workspace, fonts, height);
  workspace.until_kept_s -= static_cast<double>(ImGui::GetIO().DeltaTime);
  if (workspace.until_kept_s > 0) return;
  workspace.until_kept_s = kKeepEvery_s;
  keep_views(workspace);
}

}  // namespace viewer
