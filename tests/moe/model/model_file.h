#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "moe/errors.h"
#include "moe/model/model.h"

namespace moe::test {

/// A model with every key that is required.
inline constexpr const char* kGood = R"(
[model]
sequence_length = 8
d_model = 16
d_hidden = 32
heads = 2
blocks = 2
[moe]
experts = 4
choices = 2
[training]
global_batch = 4
)";

/// Model files in a folder of their own.
class ModelFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& text) {
    const auto path = directory_ / "x.toml";
    std::ofstream(path) << text;
    return path;
  }
  Model load(const std::string& text) { return load_model(write(text)); }

  /// kGood with one line replaced.
  Model load_with(const std::string& line, const std::string& replacement) {
    std::string text = kGood;
    text.replace(text.find(line), line.size(), replacement);
    return load(text);
  }
  template <class Body>
  std::string message(Body body) {
    try {
      body();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no InputError";
  }
  std::string message_with(const std::string& line, const std::string& replacement) {
    return message([&] { load_with(line, replacement); });
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-model-file-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace moe::test
