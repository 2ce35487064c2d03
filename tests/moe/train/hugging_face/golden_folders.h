#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "moe/input/read_file.h"
#include "moe/model/model.h"

/// Folders that tests/golden/make_hugging_face_golden.py wrote, and what tests of them share.
namespace moe::golden_folders {

inline const std::filesystem::path kGolden =
    std::filesystem::path(MOELAB_SOURCE_DIR) / "tests" / "golden" / "hugging_face";

/// A folder that is gone at the end.
struct Scratch {
  std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / ("hugging_face" + std::to_string(getpid()));
  Scratch() {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  ~Scratch() { std::filesystem::remove_all(root); }
};

/// What config.json does not say.
inline Model base_model(DType dtype = DType::f32) {
  Model model;
  model.sequence_length = 8;
  model.global_batch = 4;
  model.dtype = dtype;
  return model;
}

inline nlohmann::json json_of(const std::filesystem::path& file) {
  return nlohmann::json::parse(read_file(file));
}

template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing is refused";
}

}  // namespace moe::golden_folders
