#include "viewer/window/window.h"

#include <fmt/format.h>
#include <imgui.h>

// imgui's backends lie beside imgui.h.
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#define GL_GLEXT_PROTOTYPES
#define GLFW_INCLUDE_GLEXT
#include <GLFW/glfw3.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viewer/window/input_order.h"
#include "viewer/window/key_taps.h"

namespace viewer {

namespace {

constexpr double kFrame_s = 1.0 / 60;
constexpr double kIdle_s = 1;         // between frames while nothing happens
constexpr int kFramesAfterEvent = 3;  // ImGui settles hovering and layout over a few frames

// The last error of GLFW, which reports through a callback without a user pointer.
std::string& last_glfw_error() {
  static std::string text;
  return text;
}

void draw_frame(const std::function<void()>& draw, int width, int height) {
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  glViewport(0, 0, width, height);
  glClearColor(theme::kLine.r, theme::kLine.g, theme::kLine.b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

// A picture in memory to draw into: an invisible window's own one need not exist.
class Offscreen {
 public:
  Offscreen(int width, int height) {
    glGenFramebuffers(1, &framebuffer_);
    glGenTextures(1, &texture_);
    glBindTexture(GL_TEXTURE_2D, texture_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
      throw DisplayError(
          fmt::format("OpenGL cannot draw a picture of {}x{} pixels", width, height));
    }
  }
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  ~Offscreen() {
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glDeleteFramebuffers(1, &framebuffer_);
    glDeleteTextures(1, &texture_);
  }

 private:
  GLuint framebuffer_ = 0;
  GLuint texture_ = 0;
};

// The pixels of the framebuffer that is bound.
Image read_pixels(int width, int height) {
  Image image{width, height, {}};
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  image.rgb.resize(row * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, image.rgb.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(height) / 2;
       ++y) {  // OpenGL counts rows from the bottom
    const auto top = image.rgb.begin() + static_cast<std::ptrdiff_t>(y * row);
    const auto bottom = image.rgb.end() - static_cast<std::ptrdiff_t>((y + 1) * row);
    std::swap_ranges(top, top + static_cast<std::ptrdiff_t>(row), bottom);
  }
  return image;
}

GLFWwindow* open_glfw_window(const std::string& title, int width, int height, bool visible) {
  glfwSetErrorCallback([](int, const char* text) { last_glfw_error() = text; });
  if (glfwInit() == GLFW_FALSE) {
    throw DisplayError("no display (" + last_glfw_error() + "): without one run under xvfb-run");
  }
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_VISIBLE, visible ? GLFW_TRUE : GLFW_FALSE);
  GLFWwindow* window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
  if (window == nullptr) {
    glfwTerminate();
    throw DisplayError("the display offers no OpenGL 3.3 (" + last_glfw_error() +
                       "): LIBGL_ALWAYS_SOFTWARE=1 draws without a graphics card");
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  return window;
}

}  // namespace

struct Window::Context {
  Context(const std::string& title, int width, int height, bool visible) {
    if (!visible) open_offscreen();
    if (!offscreen) open_window(title, width, height, visible);
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;  // the layout is fixed: there is nothing to keep
    if (window != nullptr) {
      ImGui_ImplGlfw_InitForOpenGL(window, true);
      glfwSetWindowUserPointer(window, this);
      glfwSetKeyCallback(window, &Context::on_key);
      glfwSetCharCallback(window, &Context::on_character);
      glfwSetMouseButtonCallback(window, &Context::on_button);
      glfwSetDropCallback(window, &Context::on_drop);
    }
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    ImGui_ImplOpenGL3_Shutdown();
    if (window != nullptr) ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    if (window == nullptr) return;
    glfwDestroyWindow(window);
    glfwTerminate();
  }

  // After a frame: passes on the releases of keys that were only tapped, and keys that came after a
  // click that has been drawn.
  void pass_kept() {
    for (const int key : taps.end_frame()) {
      ImGui_ImplGlfw_KeyCallback(window, key, 0, GLFW_RELEASE, 0);
    }
    for (const KeyEvent& event : order.end_frame()) pass(event);
  }
  // Whether keys or buttons came since this was asked last.
  bool has_input() { return std::exchange(input, false); }

  GLFWwindow* window = nullptr;      // null where pictures are drawn without a display
  std::vector<std::string> dropped;  // files, since the last frame

 private:
  static void on_drop(GLFWwindow* window, int count, const char** paths) {
    auto& context = *static_cast<Context*>(glfwGetWindowUserPointer(window));
    context.dropped.insert(context.dropped.end(), paths, paths + count);
  }

  static void on_key(GLFWwindow* window, int key, int scancode, int action, int mods) {
    static_cast<Context*>(glfwGetWindowUserPointer(window))
        ->receive({key, scancode, action, mods, 0});
  }
  static void on_character(GLFWwindow* window, unsigned character) {
    static_cast<Context*>(glfwGetWindowUserPointer(window))->receive({0, 0, 0, 0, character});
  }
  static void on_button(GLFWwindow* window, int button, int action, int mods) {
    auto& context = *static_cast<Context*>(glfwGetWindowUserPointer(window));
    context.input = true;
    context.order.on_button(action == GLFW_PRESS);
    ImGui_ImplGlfw_MouseButtonCallback(window, button, action, mods);
  }

  void receive(const KeyEvent& event) {
    input = true;
    if (order.passes(event)) pass(event);
  }
  void pass(const KeyEvent& event) {
    input = true;
    if (event.character != 0) return ImGui_ImplGlfw_CharCallback(window, event.character);
    const bool is_press = event.action == GLFW_PRESS;
    if (event.action != GLFW_REPEAT && !taps.passes(event.key, is_press)) return;
    ImGui_ImplGlfw_KeyCallback(window, event.key, event.scancode, event.action, event.mods);
  }

  void open_offscreen() {
    try {
      offscreen.emplace();
    } catch (const DisplayError& error) {
      no_offscreen = error.what();
    }
  }

  void open_window(const std::string& title, int width, int height, bool visible) {
    try {
      window = open_glfw_window(title, width, height, visible);
    } catch (const DisplayError& error) {
      if (no_offscreen.empty()) throw;
      throw DisplayError(fmt::format("{}; {}", no_offscreen, error.what()));
    }
  }

  KeyTaps taps;
  InputOrder order;
  bool input = false;
  std::optional<OffscreenContext> offscreen;
  std::string no_offscreen;  // why there is none
};

Window::Window(const std::string& title, int width, int height, bool visible, float scale)
    : context_(std::make_unique<Context>(title, width, height, visible)) {
  // A picture is the same on every machine; a person's window follows their screen.
  if (scale == 0 && visible) glfwGetWindowContentScale(context_->window, &scale, nullptr);
  screen_scale_ = scale == 0 ? 1 : scale;
  load_scale(screen_scale_);
}

void Window::load_scale(float scale) {
  ImGui::GetIO().Fonts->Clear();
  fonts_ = load_fonts(*ImGui::GetIO().Fonts, scale);
  apply_style(scale);
}

Window::~Window() = default;

void Window::run(const FrameLoop& loop) {
  GLFWwindow* window = context_->window;
  int due = kFramesAfterEvent;
  float zoom = 1;
  while (glfwWindowShouldClose(window) == GLFW_FALSE) {
    if (due > 0) {
      glfwPollEvents();
    } else {
      glfwWaitEventsTimeout(kIdle_s);
      due = kFramesAfterEvent;
    }
    if (std::exchange(zoom, loop.zoom()) != zoom) {
      load_scale(screen_scale_ * zoom);
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    for (const std::string& path : std::exchange(context_->dropped, {})) loop.dropped(path);
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    const double begin_s = glfwGetTime();
    draw_frame(loop.draw, width, height);
    if (loop.wants_picture()) loop.keep(read_pixels(width, height));
    glfwSwapBuffers(window);
    const bool is_busy = context_->has_input() || loop.is_animating();
    due = is_busy ? kFramesAfterEvent : due - 1;
    context_->pass_kept();
    // Where the driver does not wait for the screen, animation must not spin.
    const double left_s = kFrame_s - (glfwGetTime() - begin_s);
    if (due > 0 && left_s > 0) glfwWaitEventsTimeout(left_s);
  }
}

Image Window::render(const std::function<void()>& draw, int width, int height, int frames) {
  const Offscreen offscreen(width, height);
  ImGuiIO& io = ImGui::GetIO();
  for (int frame = 0; frame < frames; ++frame) {
    io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
    io.DeltaTime = static_cast<float>(kFrame_s);
    ImGui_ImplOpenGL3_NewFrame();
    draw_frame(draw, width, height);
  }
  return read_pixels(width, height);
}

}  // namespace viewer
