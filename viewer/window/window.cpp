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

namespace viewer {

namespace {

constexpr double kFrame_s = 1.0 / 60;
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

}  // namespace

struct Window::Context {
  Context(const std::string& title, int width, int height, bool visible) {
    glfwSetErrorCallback([](int, const char* text) { last_glfw_error() = text; });
    if (glfwInit() == GLFW_FALSE) {
      throw DisplayError("no display (" + last_glfw_error() + "): without one run under xvfb-run");
    }
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_VISIBLE, visible ? GLFW_TRUE : GLFW_FALSE);
    window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
    if (window == nullptr) {
      glfwTerminate();
      throw DisplayError("the display offers no OpenGL 3.3 (" + last_glfw_error() +
                         "): LIBGL_ALWAYS_SOFTWARE=1 draws without a graphics card");
    }
    glfwMakeContextCurrent(window);
    glfwSwapInterval(1);
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;  // the layout is fixed: there is nothing to keep
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(window);
    glfwTerminate();
  }

  GLFWwindow* window = nullptr;
};

Window::Window(const std::string& title, int width, int height, bool visible)
    : context_(std::make_unique<Context>(title, width, height, visible)) {
  float scale = 1;
  // A picture is the same on every machine; a person's window follows their screen.
  if (visible) glfwGetWindowContentScale(context_->window, &scale, nullptr);
  fonts_ = load_fonts(*ImGui::GetIO().Fonts, scale);
  apply_style(scale);
}

Window::~Window() = default;

void Window::run(const std::function<void()>& draw, const std::function<bool()>& animating) {
  GLFWwindow* window = context_->window;
  int due = kFramesAfterEvent;
  while (glfwWindowShouldClose(window) == GLFW_FALSE) {
    if (due > 0) {
      glfwPollEvents();
    } else {
      glfwWaitEvents();
      due = kFramesAfterEvent;
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    int width = 0, height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    const double begin_s = glfwGetTime();
    draw_frame(draw, width, height);
    glfwSwapBuffers(window);
    due = animating() ? kFramesAfterEvent : due - 1;
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

}  // namespace viewer
