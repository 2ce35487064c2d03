#include "moe/launched_database.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "db/error.h"
#include "moe/errors.h"

namespace moe::launched_database_test {
namespace {

/// Forgets what a launcher told.
struct Told {
  ~Told() { unsetenv("OMPI_MOELAB_DATABASE"); }
};

std::string fresh(const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::filesystem::remove(path);
  return path;
}

TEST(LaunchedDatabase, TheFileOfTheLauncherIsWritten) {
  const Told told;
  const std::string path = fresh("launched.db");
  EXPECT_NO_THROW(expect_database_of_launcher(path)) << "nobody told anything";
  tell_ranks(db::open_writer(path));
  EXPECT_NO_THROW(expect_database_of_launcher(path));
}

TEST(LaunchedDatabase, AnotherFileOfItsNameIsRefusedWithBothComputers) {
  const Told told;
  const std::string path = fresh("launched.db");
  tell_ranks(db::open_writer(path));
  const std::string token = std::getenv("OMPI_MOELAB_DATABASE");
  setenv("OMPI_MOELAB_DATABASE", (token.substr(0, token.find(' ')) + " login7").c_str(), 1);
  EXPECT_NO_THROW(expect_database_of_launcher(path)) << "a folder that both see";
  std::filesystem::remove(path);
  for (const bool is_there : {false, true}) {
    if (is_there) db::open_writer(path);
    try {
      expect_database_of_launcher(path);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("opened on login7"), std::string::npos)
          << error.what();
    }
  }
}

// It may be the right one: what keeps it from being read is the news.
TEST(LaunchedDatabase, AFileThatCannotBeReadIsToldAsSuch) {
  const Told told;
  const std::string path = fresh("launched.db");
  tell_ranks(db::open_writer(path));
  std::filesystem::remove(path);
  std::ofstream(path) << "this is no database, and too long to be the begin of one";
  try {
    expect_database_of_launcher(path);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::not_a_database) << error.what();
  }
}

}  // namespace
}  // namespace moe::launched_database_test
