#include "microbench/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace microbench::table_test {
namespace {

using ::testing::ElementsAre;

const std::vector<Column> kColumns{size_column(), time_column(), bus_bandwidth_column()};

Result result(const std::string& op, std::int64_t bytes, double cv = 0.01) {
  Result r;
  r.columns = &kColumns;
  r.measurement.op = op;
  r.measurement.device = "cpu";
  r.measurement.dtype = "f32";
  r.measurement.ranks = 2;
  r.measurement.bytes = bytes;
  r.measurement.count = bytes / 4;
  r.measurement.parameters_json = "{}";
  r.measurement.time_s = 0.001234;
  r.measurement.min_s = 0.0005;
  r.measurement.max_s = 0.02;
  r.measurement.samples = 12;
  r.measurement.bus_bandwidth_bytes_per_s = 2.5e9;
  r.measurement.algorithm_bandwidth_bytes_per_s = 1.25e9;
  r.cv = cv;
  r.p95_s = 0.015;
  return r;
}

/// The text that `write` leaves in a file.
template <class Write>
std::vector<std::string> lines_of(db::Format format, Write write) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  ResultWriter writer(file, {format}, {"n0", 1795851630, 2, "abc123", "eth0 25 Gbit/s"});
  write(writer);
  writer.finish();
  std::fclose(file);
  std::vector<std::string> lines;
  std::string line;
  for (const char c : std::string(text, size)) {
    if (c != '\n') {
      line += c;
      continue;
    }
    lines.push_back(line);
    line.clear();
  }
  std::free(text);
  EXPECT_EQ(line, "") << "a last line without its end";
  return lines;
}

TEST(FourDigits, AreFourWhateverTheSize) {
  EXPECT_EQ(four_digits(0), "0.000");
  EXPECT_EQ(four_digits(1.23456), "1.235");
  EXPECT_EQ(four_digits(12.3456), "12.35");
  EXPECT_EQ(four_digits(123.456), "123.5");
  EXPECT_EQ(four_digits(1234.56), "1235");
  EXPECT_EQ(four_digits(123456789), "123456789");
}

TEST(ResultWriter, PrintsAHeadingPerOpAndARowPerResultAsNcclTestsDo) {
  const auto lines = lines_of(db::Format::table, [](ResultWriter& writer) {
    writer.metadata("2 ranks");
    writer.row(result("all_reduce", 1024));
    writer.row(result("all_reduce", 4096));
    writer.row(result("all_gather", 1024));
  });
  EXPECT_THAT(lines, ElementsAre("# 2 ranks", "#", "# all_reduce",
                                 "#       size      time    busbw  #wrong       min       p50      "
                                 " p95       max     cv samples",
                                 "#        (B)      (us)   (GB/s)              (us)      (us)      "
                                 "(us)      (us)    (%)        ",
                                 "        1024      1234    2.500       0     500.0      1234     "
                                 "15000     20000    1.0      12",
                                 "        4096      1234    2.500       0     500.0      1234     "
                                 "15000     20000    1.0      12",
                                 "#", "# all_gather",
                                 "#       size      time    busbw  #wrong       min       p50      "
                                 " p95       max     cv samples",
                                 "#        (B)      (us)   (GB/s)              (us)      (us)      "
                                 "(us)      (us)    (%)        ",
                                 "        1024      1234    2.500       0     500.0      1234     "
                                 "15000     20000    1.0      12",
                                 "#", "# Out of bounds values : 0 OK",
                                 "# Largest cv           : 1.0% (all_reduce of 1024 bytes)"));
}

TEST(ResultWriter, EndsWithWhatIsWrongTheMeanBandwidthAndWhoseSamplesDifferMost) {
  std::int64_t wrong = 0;
  const auto lines = lines_of(db::Format::table, [&](ResultWriter& writer) {
    Result a = result("all_reduce", 1024, 0.02), b = result("all_reduce", 2048, 0.5),
           c = result("gemm", 0, 0.1);
    a.in_mean_of_bus_bandwidth = b.in_mean_of_bus_bandwidth = true;
    a.measurement.bus_bandwidth_bytes_per_s = 1e9;
    b.measurement.bus_bandwidth_bytes_per_s = 4e9;
    c.measurement.bus_bandwidth_bytes_per_s = 100e9;  // of no collective: not in the mean
    a.measurement.wrong = 3;
    c.measurement.wrong = 4;
    for (const Result* r : {&a, &b, &c}) writer.row(*r);
    wrong = writer.wrong();
  });
  EXPECT_EQ(wrong, 7);
  EXPECT_THAT(
      std::vector(lines.end() - 3, lines.end()),
      ElementsAre("# Out of bounds values : 7 FAILED", "# Avg bus bandwidth    : 2.500 GB/s",
                  "# Largest cv           : 50.0% (all_reduce of 2048 bytes)"));
}

TEST(ResultWriter, OfNothingSaysOnlyThatNothingIsWrong) {
  EXPECT_THAT(lines_of(db::Format::table, [](ResultWriter&) {}),
              ElementsAre("#", "# Out of bounds values : 0 OK"));
}

TEST(ResultWriter, CsvIsARowPerResultInPlainNumbersAndNothingElse) {
  const auto lines = lines_of(db::Format::csv, [](ResultWriter& writer) {
    writer.metadata("2 ranks");
    Result r = result("gemm", 0);
    r.measurement.flops = 2468000;
    r.measurement.parameters_json = R"({"m":1,"n":2})";
    r.redop = "sum";
    r.root = 1;
    writer.row(r);
  });
  EXPECT_THAT(
      lines, ElementsAre("op,device,dtype,ranks,bytes,count,redop,root,parameters,flops,time_s,"
                         "min_s,max_s,cv,samples,algorithm_bandwidth_bytes_per_s,"
                         "bus_bandwidth_bytes_per_s,flops_per_s,wrong,p50_s,p95_s,awake_s,host,"
                         "date,nodes,commit,network",
                         "gemm,cpu,f32,2,0,0,sum,1,\"{\"\"m\"\":1,\"\"n\"\":2}\",2468000,"
                         "0.001234,0.0005,0.02,0.01,12,1250000000,2500000000,2000000000,0,0.001234,"
                         "0.015,,n0,2026-11-28T07:40:30Z,2,abc123,eth0 25 Gbit/s"));
}

TEST(ResultWriter, AResultWithoutColumnsIsNoLineOfATable) {
  const auto print = [](ResultWriter& writer) {
    Result pair = result("ping_pong", 8);
    pair.columns = nullptr;
    writer.row(pair);
    writer.text("a matrix");
  };
  EXPECT_THAT(lines_of(db::Format::table, print), testing::Contains("a matrix"));
  EXPECT_THAT(lines_of(db::Format::table, print), testing::Not(testing::Contains("# ping_pong")));
  EXPECT_EQ(lines_of(db::Format::csv, print).size(), 2U);
}

TEST(ResultWriter, AFullOutputIsAnError) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  ResultWriter writer(full, {db::Format::table});
  EXPECT_THROW(writer.metadata("2 ranks"), db::OutputError);
  std::fclose(full);
}

}  // namespace
}  // namespace microbench::table_test
