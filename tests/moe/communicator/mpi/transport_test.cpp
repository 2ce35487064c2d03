#include "moe/communicator/mpi/transport.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace moe::transport_test {
namespace {

/// A home of its own, with Open MPI's parameter file in it, for one test.
class Transport : public testing::Test {
 protected:
  void SetUp() override {
    home_ = std::filesystem::path(testing::TempDir()) / "transport_test";
    std::filesystem::create_directories(home_ / ".openmpi");
    setenv("HOME", home_.c_str(), 1);
    for (const char* name : variables_) unsetenv(name);
  }
  void TearDown() override {
    std::filesystem::remove_all(home_);
    if (old_home_.empty()) {
      unsetenv("HOME");
    } else {
      setenv("HOME", old_home_.c_str(), 1);
    }
    for (const char* name : variables_) unsetenv(name);
  }
  void write(const std::string& text) {
    std::ofstream(home_ / ".openmpi" / "mca-params.conf") << text;
  }

  const std::array<const char*, 3> variables_ = {
      "OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_flags", "OMPI_MCA_mca_base_param_files"};
  const std::string old_home_ = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  std::filesystem::path home_;
};

TEST_F(Transport, MessagesAreEagerWhereTheUserSaysNothing) {
  write("# btl_tcp_flags = put\nbtl_tcp_eager_limits = 5\npml = ob1\nbtl_tcp_flags\n");
  set_transport_defaults();
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl_tcp_flags"), "send,inplace");
  EXPECT_GT(std::atoll(std::getenv("OMPI_MCA_btl_tcp_eager_limit")), 128 * 1024);
}

TEST_F(Transport, WhatTheUsersEnvironmentSetsStays) {
  setenv("OMPI_MCA_btl_tcp_eager_limit", "65536", 1);
  set_transport_defaults();
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl_tcp_eager_limit"), "65536");
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl_tcp_flags"), "send,inplace");
}

TEST_F(Transport, WhatTheUsersParameterFileSetsIsNotOverridden) {
  write("btl = self,tcp\n  btl_tcp_eager_limit=65536\nbtl_tcp_flags = put\n");
  set_transport_defaults();
  EXPECT_EQ(std::getenv("OMPI_MCA_btl_tcp_eager_limit"), nullptr);
  EXPECT_EQ(std::getenv("OMPI_MCA_btl_tcp_flags"), nullptr);
}

TEST_F(Transport, ListOfParameterFilesReplacesTheUsualOnes) {
  const std::string file = home_ / "mine.conf";
  std::ofstream(file) << "btl_tcp_flags = put\n";
  setenv("OMPI_MCA_mca_base_param_files", ("/nonexistent," + file).c_str(), 1);
  EXPECT_THAT(parameter_files(), testing::ElementsAre("/nonexistent", file));
  set_transport_defaults();
  EXPECT_EQ(std::getenv("OMPI_MCA_btl_tcp_flags"), nullptr);
}

}  // namespace
}  // namespace moe::transport_test
