#include "viewer/app/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "db/error.h"
#include "db/network.h"
#include "viewer/model/catalog.h"
#include "viewer/panels/run_list.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/splitter.h"

namespace viewer {

namespace {

constexpr int kF1 = 290, kF5 = 294, kEscape = 256;  // GLFW's codes
constexpr int kPlus = '=', kMinus = '-', kPadPlus = 334, kPadMinus = 333;
constexpr float kZoomStep = 1.1F, kLeastZoom = 0.5F, kMostZoom = 4;
constexpr float kList_em = 24, kLeastList_em = 6;
constexpr double kLookEvery_s = 1;
constexpr std::array kKeys = {
    KeyHelp{"Ctrl + and -", "enlarge and shrink text and lanes; Ctrl 0"},
    KeyHelp{"Ctrl + O", "the list of files; a file dropped on the window opens in a tab"},
    KeyHelp{"Ctrl + Tab", "the next file; Ctrl + W closes the tab"},
    KeyHelp{"F5", "read the database again"},
    KeyHelp{"P", "save a picture of the window in the current folder"},
    KeyHelp{"Ctrl + C", "copy the table under the mouse as CSV"},
    KeyHelp{"?  F1", "this list"}};

ImVec4 opaque(Color color) { return {color.r, color.g, color.b, 1}; }

void draw_tab(App& app, const Panel& panel) {
  const bool active = app.panel == &panel;
  ImGui::PushStyleColor(ImGuiCol_Button,
                        ImGui::GetColorU32(active ? ImGuiCol_Header : ImGuiCol_WindowBg));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  if (ImGui::Button(panel.title)) app.panel = &panel;
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  ImGui::SameLine();
}

std::string run_text(const App& app, const RunRow& run) {
  const char* dash = app.fonts.symbols ? "\u2013" : "-";
  const std::string planner = run.planner.empty() ? "" : ", " + run.planner;
  const std::string divided = divided_text(run.layout);
  const std::string paced = db::is_one_gpu_network(run.network) ? ", " + run.network : "";
  return fmt::format("run {}  {}  {} {}{}, {} rank{}{} on {}{}", run.id, dash, run.kind, run.name,
                     planner, run.ranks, run.ranks == 1 ? "" : "s",
                     divided.empty() ? "" : " (" + divided + ")", run.device, paced);
}

void draw_bar(App& app, Rect area) {
  begin_fixed("bar", area);
  const ImGuiStyle& style = ImGui::GetStyle();
  const float em = app.fonts.text->FontSize;
  ImGui::AlignTextToFramePadding();
  const bool narrow = area.width() <= em * 40;  // the tabs have all the room then
  if (narrow) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.2F, style.FramePadding.y});
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {em * 0.1F, style.ItemSpacing.y});
  } else {
    ImGui::PushFont(app.fonts.bold);
    ImGui::TextColored(opaque(theme::kAccent), "moelab");
    ImGui::PopFont();
    ImGui::SameLine(0, em * 1.5F);
  }
  for (const Panel& panel : all_panels()) draw_tab(app, panel);
  const float left = ImGui::GetCursorPosX() + em * 1.5F;

  const char* const keys = narrow ? "?" : "? keys";
  const float button = ImGui::CalcTextSize(keys).x + 2 * style.FramePadding.x;
  const float right = ImGui::GetWindowWidth() - style.WindowPadding.x;
  const std::string path = app.session.connection.path();
  const std::string file = elided(*app.fonts.text, std::filesystem::path(path).filename().string(),
                                  (right - left) * 0.3F);
  const float file_left =
      right - button - style.ItemSpacing.x * 2 - text_width(*app.fonts.text, file);

  ImGui::SetCursorPosX(left);
  const float room = file_left - left - em;
  if (!app.session.problem.empty()) {
    ImGui::TextColored(opaque(theme::kBad), "%s",
                       elided(*app.fonts.text, app.session.problem, room).c_str());
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", app.session.problem.c_str());
  } else if (!app.notice.empty()) {
    ImGui::TextColored(opaque(theme::kGood), "%s",
                       elided(*app.fonts.text, app.notice, room).c_str());
  } else if (const RunRow* run = find_run(app.session.catalog, app.session.selected_run)) {
    ImGui::TextDisabled("%s", elided(*app.fonts.text, run_text(app, *run), room).c_str());
  }
  ImGui::SameLine(file_left);
  ImGui::TextDisabled("%s", file.c_str());
  if (ImGui::IsItemClicked()) app.wants_files = true;
  if (ImGui::IsItemHovered()) {
    ImGui::SetTooltip("%s\na click lists the files that were open before", path.c_str());
  }
  ImGui::SameLine(right - button);
  if (ImGui::Button(keys)) app.help = !app.help;
  if (narrow) ImGui::PopStyleVar(2);
  ImGui::End();
}

void draw_key(const App& app, const std::string& keys, const char* what) {
  ImGui::TextColored(opaque(theme::kAccent), "%s", keys.c_str());
  ImGui::SameLine(app.fonts.text->FontSize * 12.5F);
  ImGui::TextUnformatted(what);
}

void draw_help(App& app) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {scaled_px(24), scaled_px(18)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, scaled_px(8));
  ImGui::Begin("keys", nullptr,
               ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoDecoration |
                   ImGuiWindowFlags_NoSavedSettings);
  ImGui::PushFont(app.fonts.bold);
  ImGui::TextUnformatted("Keys and mouse");
  ImGui::PopFont();
  ImGui::Spacing();
  std::string numbers;
  for (std::size_t i = 0; i < all_panels().size(); ++i) numbers += fmt::format("{}  ", i + 1);
  draw_key(app, numbers, "the tabs");
  for (const KeyHelp& key : kKeys) draw_key(app, key.keys, key.what);
  for (const Panel& panel : all_panels()) {
    if (panel.keys.empty()) continue;
    ImGui::Spacing();
    ImGui::TextDisabled("%s", panel.title);
    for (const KeyHelp& key : panel.keys) draw_key(app, key.keys, key.what);
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

void handle_zoom(App& app) {
  const auto pressed = [](int key, int pad) {
    return ImGui::IsKeyPressed(key, true) || ImGui::IsKeyPressed(pad, true);
  };
  if (pressed(kPlus, kPadPlus)) app.zoom = std::min(app.zoom * kZoomStep, kMostZoom);
  if (pressed(kMinus, kPadMinus)) app.zoom = std::max(app.zoom / kZoomStep, kLeastZoom);
  if (ImGui::IsKeyPressed('0', false)) app.zoom = 1;
}

void handle_global_keys(App& app) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantTextInput) return;
  const bool question = std::find(io.InputQueueCharacters.begin(), io.InputQueueCharacters.end(),
                                  ImWchar('?')) != io.InputQueueCharacters.end();
  if (question || ImGui::IsKeyPressed(kF1, false)) app.help = !app.help;
  if (ImGui::IsKeyPressed(kEscape, false)) app.help = false;
  if (ImGui::IsKeyPressed(kF5, false)) {
    reload(app.session);
    app.notice.clear();
  }
  if (ImGui::IsKeyPressed('P', false) && !io.KeyCtrl) app.wants_picture = true;
  if (ImGui::IsKeyPressed('C', false) && io.KeyCtrl && !app.table_copy.request()) {
    app.notice = "there is no table under the mouse";
  }
  if (io.KeyCtrl) {
    handle_zoom(app);
    return;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(all_panels().size(), 9); ++i) {
    if (ImGui::IsKeyPressed('1' + static_cast<int>(i), false)) app.panel = &all_panels()[i];
  }
}

}  // namespace

void show_panel(App& app, std::string_view name) {
  const Panel* panel = find_panel(name);
  if (panel == nullptr) throw UnknownView(fmt::format("there is no panel {}", name));
  app.panel = panel;
}

std::vector<std::string> figures_names() {
  std::vector<std::string> names;
  for (const Figures figures : kFigures) names.emplace_back(figures_name(figures));
  return names;
}

void show_figures(App& app, std::string_view name) {
  for (const Figures figures : kFigures) {
    if (name != figures_name(figures)) continue;
    app.states.of<TimelinePanel>().figures = figures;
    return;
  }
  throw UnknownView(fmt::format("there is no table {}", name));
}

void show_ranks(App& app, const std::string& ranks, std::string_view order) {
  if (!parse_ranks(ranks)) {
    throw UnknownView(ranks + " is no list of ranks, like 0-7,64");
  }
  RankChoice& choice = app.states.of<TimelinePanel>().ranks.choice;
  choice.ranks = ranks;
  if (order.empty()) return;
  const auto found = std::find_if(kRankOrders.begin(), kRankOrders.end(),
                                  [&](RankOrder one) { return order == rank_order_name(one); });
  if (found == kRankOrders.end()) {
    throw UnknownView(fmt::format("ranks have no order by {}", order));
  }
  choice.order = *found;
}

bool is_moving(App& app) {
  if (!app.session.loaders.empty()) return true;
  return app.panel->is_moving != nullptr && app.panel->is_moving(app.states);
}

namespace {

// Once a second: what another process wrote is read; a file that is gone is said.
void follow_database(App& app) {
  if (!app.watch) return;
  app.until_look_s -= ImGui::GetIO().DeltaTime;
  if (app.until_look_s > 0) return;
  app.until_look_s = kLookEvery_s;
  try {
    const DatabaseChange change = app.watch->look();
    if (change == DatabaseChange::rows) reload(app.session);
    const std::string text = change_text(change, app.session.connection.path());
    if (!text.empty()) app.session.problem = text;
  } catch (const db::Error& error) {
    app.session.problem = error.what();
  }
}

void copy_to_clipboard(App& app, const std::string& csv) {
  ImGui::SetClipboardText(csv.c_str());
  app.notice = fmt::format("copied {} lines as CSV", std::count(csv.begin(), csv.end(), '\n'));
}

void draw_content(App& app) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float bar = ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().WindowPadding.y;
  draw_bar(app, {{0, app.top_px}, {display.x, app.top_px + bar}});
  Rect below{{0, app.top_px + bar + 1}, display};
  float left = 0;
  const Panel& panel = *app.panel;  // a click may choose another: from the next frame on
  if (panel.side_list != SideList::none) {
    const float wanted = app.fonts.text->FontSize * app.list_em;
    left = std::min(wanted, display.x * (app.list_em > kList_em ? 0.6F : 0.3F));
    begin_fixed("list", {below.min, {left, display.y}});
    draw_run_list(app.session, app.fonts, app.states.of<RunFilter>(),
                  panel.side_list == SideList::runs_and_timelines);
    ImGui::End();
    below.min.x = left + 1;
  }
  PanelContext context{app.session, app.fonts, app.states};
  panel.draw(context, below);
  const Rect edge{{left, app.top_px + bar}, {left, display.y}};
  const float moved = left > 0 ? drag_edge("list edge", edge) : 0;
  if (moved != 0) {
    app.list_em = std::max((left + moved) / app.fonts.text->FontSize, kLeastList_em);
  }
  if (context.next_panel != nullptr) show_panel(app, context.next_panel);
}

}  // namespace

void draw_app(App& app) {
  follow_database(app);
  deliver(app.session);
  handle_global_keys(app);
  app.table_copy.begin();
  draw_content(app);
  if (const std::optional<std::string> csv = app.table_copy.end()) copy_to_clipboard(app, *csv);
  if (app.help) draw_help(app);
}

}  // namespace viewer
