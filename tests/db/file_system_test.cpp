#include "db/file_system.h"

#include <gtest/gtest.h>

#include "tests/db/temporary_directory.h"

namespace db::file_system_test {
namespace {

TEST(FileSystem, ThoseThatComputersShareAreNamed) {
  EXPECT_EQ(network_file_system_of_type(0x6969), "NFS");
  EXPECT_EQ(network_file_system_of_type(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_file_system_of_type(0x65735546), "FUSE");
  EXPECT_EQ(network_file_system_of_type(0xFF534D42), "CIFS");
  EXPECT_EQ(network_file_system_of_type(0xEF53), std::nullopt) << "ext4";
  EXPECT_EQ(network_file_system_of_type(0x01021994), std::nullopt) << "tmpfs";
}

TEST(FileSystem, AFileThatIsNotThereLiesWhereItsFolderDoes) {
  const SmallDisk disk(64);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  EXPECT_EQ(network_file_system(disk.file("none.db")), std::nullopt);
  EXPECT_EQ(network_file_system("/nowhere/none.db"), std::nullopt);
}

}  // namespace
}  // namespace db::file_system_test
