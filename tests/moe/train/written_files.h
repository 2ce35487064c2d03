#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "moe/errors.h"

/// Files that a test writes, and what is said of them.
namespace moe::written_files {

/// A test with a folder of its own.
class WrittenFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, const std::string& bytes) {
    const auto path = directory_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("moelab-") +
       testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
};

template <class T>
std::string bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Body>
std::string input_error(Body body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

}  // namespace moe::written_files
