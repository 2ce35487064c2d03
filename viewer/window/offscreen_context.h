#pragma once

#include <memory>
#include <stdexcept>

namespace viewer {

/// There is no display, or nothing that draws has OpenGL 3.3.
struct DisplayError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An OpenGL 3.3 context that needs no display, current on this thread until it is destroyed. It
/// draws into framebuffers, on a graphics card where Mesa finds one and in software elsewhere.
class OffscreenContext {
 public:
  /// Throws DisplayError with the reason.
  OffscreenContext();
  OffscreenContext(const OffscreenContext&) = delete;
  OffscreenContext& operator=(const OffscreenContext&) = delete;
  ~OffscreenContext();

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace viewer
