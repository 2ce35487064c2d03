#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/error.h"
#include "db/import_sweeps.h"
#include "tests/db/refusal.h"

namespace db {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ImportOsu, SizesAreThoseOfTheWholeArray) {
  const auto bytes = [](const std::string& title) {
    std::istringstream log("# OSU MPI " + title + " Latency Test v7.0\n# Size   Avg Latency(us)\n" +
                           "1024      10.00\n");
    const ImportedSweeps found =
        read_osu(log, "osu.txt", {.machine = "c1", .device = "cpu", .ranks = 4, .nodes = 2});
    return found.sweeps.at(0).rows.at(0).bytes;
  };
  EXPECT_EQ(bytes("All-to-All Personalized Exchange"), 4096) << "1024 to each rank";
  EXPECT_EQ(bytes("Allgather"), 4096);
  EXPECT_EQ(bytes("Allreduce"), 1024);
  EXPECT_EQ(bytes("Broadcast"), 1024);
  std::istringstream log("# OSU MPI Allreduce Latency Test\n1024 10\n");
  EXPECT_THROW(read_osu(log, "osu.txt", {}), Error) << "of how many ranks?";
}

TEST(ImportOsu, RefusesOtherTablesAndLeavesOutWhatFailed) {
  const SweepFacts facts{.machine = "c1", .device = "cpu", .ranks = 4, .nodes = 2};
  for (const char* title : {"Non-blocking Allreduce Latency", "Gather Latency", "Latency",
                            "All-to-Allv Personalized Exchange Latency", "Bandwidth"}) {
    std::istringstream log("# OSU MPI Allreduce Latency Test\n8 1.0\n# OSU MPI " +
                           std::string(title) + " Test v7.0\n8 5.0\n");
    EXPECT_THROW(read_osu(log, "osu.txt", facts), Error) << title;
  }
  std::istringstream gpus("    # OSU MPI-CUDA Allreduce Latency Test\n    8 1.0\n");
  EXPECT_THROW(read_osu(gpus, "osu.txt", facts), Error) << "the device is cpu";
  std::istringstream log("# OSU MPI Allreduce Latency Test\n8 1.0 Pass\n16 2.0 Fail\n");
  const ImportedSweeps found = read_osu(log, "osu.txt", facts);
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(1));
  EXPECT_THAT(found.remarks, Contains("1 row with wrong values left out"));
}

const SweepFacts kOsuFacts{.machine = "c1", .device = "cpu", .ranks = 4, .nodes = 2};

ImportedSweeps sweeps_of_osu(const std::string& text, const SweepFacts& facts = kOsuFacts,
                             const std::string& name = "osu.txt") {
  std::istringstream log(text);
  return read_osu(log, name, facts);
}

std::string refusal_of_osu(const std::string& text, const SweepFacts& facts = kOsuFacts) {
  return refusal_of([&] { sweeps_of_osu(text, facts); });
}

const std::string kOsuTitle = "# OSU MPI Allreduce Latency Test v7.0\n";

TEST(ImportOsu, RefusesLogsOfNcclTestsAndSizesThatAreNone) {
  EXPECT_THAT(refusal_of_osu(kOsuTitle + "1048576 262144 float sum -1 30.49 34.40 60.19 0\n"),
              HasSubstr("line 2: \"float\" behind a time: expected numbers"));
  EXPECT_THAT(refusal_of_osu(kOsuTitle + "8.5 1.0\n"),
              HasSubstr("line 2: size is \"8.5\": expected a whole number of bytes up to"));
  EXPECT_THAT(refusal_of_osu("# OSU MPI Allgather Latency Test\n50000000000000000 1.0\n"),
              HasSubstr("up to 25000000000000000"))
      << "four of them are more than a row holds";
  const ImportedSweeps found = sweeps_of_osu(kOsuTitle + "0 1.0\n4 5\n4 50\n");
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(2));
  EXPECT_THAT(found.remarks,
              ElementsAre("1 row without a size left out",
                          "1 row of a size that its table had before: all are taken"));
}

TEST(ImportOsu, TakesTypesAndSpreadsWhereTheyArePrinted) {
  const std::string heading =
      "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n";
  const ImportedSweeps found = sweeps_of_osu(kOsuTitle + "# Datatype: MPI_CHAR.\n" + heading +
                                             "4 5.00 4.00 6.00 1000 Pass\n" + kOsuTitle +
                                             "# Size  Avg Latency(us)\n4 5.00\n");
  ASSERT_THAT(found.sweeps, SizeIs(2));
  const Measurement& row = found.sweeps[0].rows.at(0);
  EXPECT_EQ(row.dtype, "i8");
  EXPECT_DOUBLE_EQ(row.time_s, 5e-6);
  EXPECT_DOUBLE_EQ(row.min_s, 4e-6);
  EXPECT_DOUBLE_EQ(row.max_s, 6e-6);
  EXPECT_EQ(found.sweeps[1].rows.at(0).dtype, "f32") << "of another table";
  EXPECT_DOUBLE_EQ(found.sweeps[1].rows.at(0).min_s, 5e-6);
  EXPECT_THAT(refusal_of_osu(kOsuTitle + heading + "4 5.00\n"), HasSubstr("is the line cut off?"));
  EXPECT_THAT(refusal_of_osu(kOsuTitle + heading + "4 5.00 6.00 7.00 10\n"),
              HasSubstr("line 3: the time is 5.00, the least 6.00, the greatest 7.00"));
  EXPECT_THAT(refusal_of_osu(kOsuTitle + "# Datatype: MPI_SHORT.\n4 5.00\n"),
              HasSubstr("line 2: type is \"MPI_SHORT\""));
}

TEST(ImportOsu, SaysThatATitleNamesNoGpus) {
  SweepFacts facts = kOsuFacts;
  EXPECT_THAT(sweeps_of_osu(kOsuTitle + "4 5\n", facts).remarks, SizeIs(0));
  facts.device = "cuda";
  EXPECT_THAT(sweeps_of_osu(kOsuTitle + "4 5\n", facts).remarks,
              ElementsAre(HasSubstr("names no GPUs")));
  EXPECT_THAT(sweeps_of_osu("# OSU MPI-CUDA Allreduce Latency Test\n4 5\n", facts).remarks,
              SizeIs(0));
}

TEST(ImportOsu, TheCollectiveIsOfTheFileWhereThereIsNoTitle) {
  EXPECT_EQ(sweeps_of_osu("4 5\n", kOsuFacts, "osu_alltoall.txt").sweeps.at(0).rows.at(0).op,
            "all_to_all");
  EXPECT_THAT(refusal_of_osu("4 5\n"), HasSubstr("expected --collective NAME"));
}

}  // namespace
}  // namespace db
