#pragma once

#include <imgui.h>

#include <functional>
#include <initializer_list>

#include "viewer/window/theme.h"

/// ImGui without a window: frames are laid out and react to input that a test writes into io,
/// nothing is drawn.
namespace viewer {

class Headless {
 public:
  explicit Headless(float scale = 1) {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {1600, 900};
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.MousePos = {-1, -1};
    fonts = load_fonts(*io.Fonts, scale);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
    apply_style(scale);
  }
  Headless(const Headless&) = delete;
  Headless& operator=(const Headless&) = delete;
  ~Headless() { ImGui::DestroyContext(); }

  void frame(const std::function<void()>& draw) {
    ImGui::GetIO().DeltaTime = 1.0F / 60;
    ImGui::NewFrame();
    draw();
    ImGui::Render();
  }

  /// Presses the key for one frame (`frames` to hold it), then releases it.
  void press(int key, const std::function<void()>& draw, int frames = 1) {
    ImGui::GetIO().KeysDown[key] = true;
    for (int i = 0; i < frames; ++i) frame(draw);
    ImGui::GetIO().KeysDown[key] = false;
    frame(draw);
  }

  void click(ImVec2 at, const std::function<void()>& draw) {
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = at;
    frame(draw);
    io.MouseDown[0] = true;
    frame(draw);
    io.MouseDown[0] = false;
    frame(draw);
  }

  void drag(ImVec2 from, ImVec2 to, const std::function<void()>& draw) {
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = from;
    frame(draw);
    io.MouseDown[0] = true;
    frame(draw);
    io.MousePos = {(from.x + to.x) / 2, (from.y + to.y) / 2};
    frame(draw);
    io.MousePos = to;
    frame(draw);
    io.MouseDown[0] = false;
    frame(draw);
  }

  Fonts fonts;
};

}  // namespace viewer
