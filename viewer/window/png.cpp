#include "viewer/window/png.h"

#include <fmt/format.h>
#include <png.h>

#include <cstring>
#include <stdexcept>

namespace viewer {

std::string encode_png(const Image& image) {
  png_image description;
  std::memset(&description, 0, sizeof description);
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(image.width);
  description.height = static_cast<png_uint_32>(image.height);
  description.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(description);
  std::string text(bytes, '\0');
  if (png_image_write_to_memory(&description, text.data(), &bytes, 0, image.rgb.data(), 0,
                                nullptr) == 0) {
    throw std::runtime_error(fmt::format("a picture of {}x{} pixels: {}", image.width, image.height,
                                         description.message));
  }
  text.resize(bytes);
  return text;
}

}  // namespace viewer
