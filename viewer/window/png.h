#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace viewer {

/// 8-bit RGB pixels, rows from top to bottom.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Throws std::runtime_error that names the file where it cannot be written; a half-written one is
/// removed.
void write_png(const Image& image, const std::string& path);

}  // namespace viewer
