#pragma once

#include <functional>
#include <memory>
#include <string>

#include "viewer/window/offscreen_context.h"
#include "viewer/window/png.h"
#include "viewer/window/theme.h"

namespace viewer {

/// What a window on the screen asks of its owner.
struct FrameLoop {
  std::function<void()> draw;          ///< draws a frame
  std::function<bool()> is_animating;  ///< whether the next frame is due without an event
  /// Whether the frame that was just drawn is wanted as a picture, which `keep` then gets.
  std::function<bool()> wants_picture;
  std::function<void(const Image&)> keep;
  std::function<float()>
      zoom;  ///< by which text and spacing are enlarged beyond the screen's scale
  std::function<void(const std::string&)> dropped;  ///< gets each file dropped on the window
};

/// An OpenGL 3.3 context and ImGui set up in it: a GLFW window on the screen, or pictures in
/// memory. At most one at a time.
class Window {
 public:
  /// One that is not visible serves for pictures. It needs no display where EGL can draw without
  /// one. `scale` enlarges text and spacing; 0 is that of the screen, 1 for pictures. Throws
  /// DisplayError.
  Window(const std::string& title, int width, int height, bool visible, float scale = 0);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  const Fonts& fonts() const { return fonts_; }

  /// Draws a frame at every event until the window is closed, at 60 Hz while it is animated, and
  /// once a second otherwise. fonts() change with the zoom.
  void run(const FrameLoop& loop);

  /// Draws `frames` frames of width x height pixels, whatever the size of the window, and returns
  /// the last.
  Image render(const std::function<void()>& draw, int width, int height, int frames);

 private:
  void load_scale(float scale);

  struct Context;  // the parts that must be destroyed in reverse order
  std::unique_ptr<Context> context_;
  Fonts fonts_;
  float screen_scale_ = 1;
};

}  // namespace viewer
