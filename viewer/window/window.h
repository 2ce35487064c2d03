#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "viewer/window/png.h"
#include "viewer/window/theme.h"

struct GLFWwindow;

namespace viewer {

/// There is no display, or the display has no OpenGL 3.3.
struct DisplayError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A GLFW window with an OpenGL 3.3 context and ImGui set up in it. At most one at a time.
class Window {
 public:
  /// Throws DisplayError. An invisible window serves for screenshots.
  Window(const std::string& title, int width, int height, bool visible);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  const Fonts& fonts() const { return fonts_; }

  /// Draws a frame at every event until the window is closed, and at 60 Hz while `animating` says
  /// so.
  void run(const std::function<void()>& draw, const std::function<bool()>& animating);

  /// Draws `frames` frames of width x height pixels, whatever the size of the window, and returns
  /// the last.
  Image render(const std::function<void()>& draw, int width, int height, int frames);

 private:
  struct Context;  // the parts that must be destroyed in reverse order
  std::unique_ptr<Context> context_;
  Fonts fonts_;
};

}  // namespace viewer
