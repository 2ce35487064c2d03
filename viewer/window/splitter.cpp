#include "viewer/window/splitter.h"

namespace viewer {

namespace {

constexpr float kGrip_px = 4;  // on both sides of the line

}  // namespace

float drag_edge(const char* name, Rect edge) {
  const bool upright = edge.width() <= 0;
  const ImVec2 grip = upright ? ImVec2{kGrip_px, 0} : ImVec2{0, kGrip_px};
  ImGui::SetNextWindowPos({edge.min.x - grip.x, edge.min.y - grip.y});
  const ImVec2 size{edge.width() + 2 * grip.x, edge.height() + 2 * grip.y};
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
  ImGui::InvisibleButton("grip", size);
  const bool active = ImGui::IsItemActive();
  if (active || ImGui::IsItemHovered()) {
    ImGui::SetMouseCursor(upright ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    draw_line(*ImGui::GetWindowDrawList(), edge.min, edge.max, to_u32(theme::kAccent), 2);
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
  if (!active) return 0;
  return upright ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y;
}

}  // namespace viewer
