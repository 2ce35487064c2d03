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

/// The image as the bytes of a PNG file. Throws std::runtime_error where libpng refuses it.
std::string encode_png(const Image& image);

}  // namespace viewer
