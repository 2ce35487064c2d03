#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <fmt/format.h>

#include <array>

#include "viewer/window/offscreen_context.h"

namespace viewer {

namespace {

[[noreturn]] void fail(const char* what) {
  throw DisplayError(fmt::format("EGL {} (error 0x{:x})", what, eglGetError()));
}

EGLDisplay open_display() {
  const auto get = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      eglGetProcAddress("eglGetPlatformDisplayEXT"));
  if (get == nullptr) fail("is too old to draw without a display");
  const EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr);
  if (display == EGL_NO_DISPLAY || eglInitialize(display, nullptr, nullptr) == EGL_FALSE) {
    fail("cannot draw without a display");
  }
  return display;
}

EGLContext make_context(EGLDisplay display) {
  constexpr std::array<EGLint, 5> kConfig = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                                             EGL_OPENGL_BIT, EGL_NONE};
  constexpr std::array<EGLint, 7> kVersion = {EGL_CONTEXT_MAJOR_VERSION,
                                              3,
                                              EGL_CONTEXT_MINOR_VERSION,
                                              3,
                                              EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                              EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (eglBindAPI(EGL_OPENGL_API) == EGL_FALSE ||
      eglChooseConfig(display, kConfig.data(), &config, 1, &count) == EGL_FALSE || count == 0) {
    fail("has no OpenGL");
  }
  const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, kVersion.data());
  if (context == EGL_NO_CONTEXT) fail("has no OpenGL 3.3");
  return context;
}

}  // namespace

struct OffscreenContext::Handles {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;

  ~Handles() {
    if (display == EGL_NO_DISPLAY) return;
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
    eglTerminate(display);
  }
};

OffscreenContext::OffscreenContext() : handles_(std::make_unique<Handles>()) {
  handles_->display = open_display();
  handles_->context = make_context(handles_->display);
  if (eglMakeCurrent(handles_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, handles_->context) ==
      EGL_FALSE) {
    fail("cannot draw without a surface");
  }
}

OffscreenContext::~OffscreenContext() = default;

}  // namespace viewer
