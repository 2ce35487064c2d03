// In every test program: what its tests write lies in a folder that goes when the program ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace {

/// The folder of testing::TempDir() and of std::filesystem::temp_directory_path().
class TemporaryFolder : public testing::Environment {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "moelab-tests-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    setenv("TEST_TMPDIR", (name + "/").c_str(), 1);
    setenv("TMPDIR", name.c_str(), 1);
  }
  ~TemporaryFolder() override {
    std::error_code ignored;
    // Not in a child that a test forked.
    if (!path_.empty() && getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
  pid_t owner_ = getpid();
};

const auto* const temporary_folder =
    testing::AddGlobalTestEnvironment(new TemporaryFolder);  // which googletest deletes

}  // namespace
