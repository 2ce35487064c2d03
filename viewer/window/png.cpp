#include "viewer/window/png.h"

#include <fmt/format.h>
#include <png.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace viewer {

void write_png(const Image& image, const std::string& path) {
  png_image description;
  std::memset(&description, 0, sizeof description);
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(image.width);
  description.height = static_cast<png_uint_32>(image.height);
  description.format = PNG_FORMAT_RGB;
  // Written beside and renamed: who waits for the picture never sees half of one.
  const std::string partial = path + ".partial";
  std::error_code ignored;
  if (png_image_write_to_file(&description, partial.c_str(), 0, image.rgb.data(), 0, nullptr) ==
      0) {
    std::filesystem::remove(partial, ignored);
    throw std::runtime_error(
        fmt::format("{}: cannot write the picture: {}", path, description.message));
  }
  std::error_code failed;
  std::filesystem::rename(partial, path, failed);
  if (failed) {
    std::filesystem::remove(partial, ignored);
    throw std::runtime_error(
        fmt::format("{}: cannot write the picture: {}", path, failed.message()));
  }
}

}  // namespace viewer
