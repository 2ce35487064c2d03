#include "viewer/window/sentence.h"

#include <imgui.h>

#include "viewer/window/plot.h"

namespace viewer {

void draw_sentence(const std::string& text, Color color) {
  if (text.empty()) return;
  const std::string shown = elided(*ImGui::GetFont(), text, ImGui::GetContentRegionAvail().x);
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(color));
  ImGui::TextUnformatted(shown.c_str());
  ImGui::PopStyleColor();
  if (shown != text && ImGui::IsItemHovered()) ImGui::SetTooltip("%s", text.c_str());
}

}  // namespace viewer
