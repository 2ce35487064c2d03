#include "db/console/format_rows.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>

namespace db::format_rows_test {
namespace {

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> cells;
};

void write_rows(std::FILE* file, const Style& style, const Rows& rows) {
  RowWriter writer(file, style, rows.columns);
  for (const auto& cells : rows.cells) writer.row(cells);
  writer.finish();
}

std::string written(const Rows& rows, Style style) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  write_rows(file, style, rows);
  std::fclose(file);
  std::string copy(text, size);
  std::free(text);
  return copy;
}

Rows sample_rows() {
  return {{"name", "bytes", "time_s", "parameters"},
          {{"all_to_all", std::int64_t{16} << 20, 0.0123, R"({"m":4})"},
           {"a, \"b\"", std::monostate{}, 1.5e-6, ""}}};
}

TEST(FormatRows, TableAlignsNumbersRightAndHasUnits) {
  EXPECT_EQ(written(sample_rows(), {}),
            "name           bytes   time_s  parameters\n"
            "all_to_all  16.0 MiB  12.3 ms  {\"m\":4}\n"
            "a, \"b\"             -  1.50 us  \n");
}

TEST(FormatRows, CsvQuotesAndTellsNullFromEmpty) {
  EXPECT_EQ(written(sample_rows(), {Format::csv, false}),
            "name,bytes,time_s,parameters\n"
            "all_to_all,16777216,0.0123,\"{\"\"m\"\":4}\"\n"
            "\"a, \"\"b\"\"\",,1.5e-06,\"\"\n");
}

TEST(FormatRows, JsonNestsJson) {
  EXPECT_EQ(
      written(sample_rows(), {Format::json, false}),
      "[\n"
      "{\"name\": \"all_to_all\", \"bytes\": 16777216, \"time_s\": 0.0123, \"parameters\": "
      "{\"m\":4}},\n"
      "{\"name\": \"a, \\\"b\\\"\", \"bytes\": null, \"time_s\": 1.5e-06, \"parameters\": \"\"}\n"
      "]\n");
}

TEST(FormatRows, NoRowsAreStillATable) {
  const Rows none{{"run", "name"}, {}};
  EXPECT_EQ(written(none, {}), "run  name\n");
  EXPECT_EQ(written(none, {Format::csv, false}), "run,name\n");
  EXPECT_EQ(written(none, {Format::json, false}), "[]\n");
}

TEST(FormatRows, JsonHasNoNumbersThatJsonLacks) {
  const Rows rows{{"x"}, {{std::numeric_limits<double>::infinity()}}};
  EXPECT_EQ(written(rows, {Format::json, false}), "[\n{\"x\": null}\n]\n");
}

TEST(FormatRows, CellsCarryTheUnitOfTheirColumn) {
  EXPECT_EQ(format_cell("start_s", 0.0), "0 s");
  EXPECT_EQ(format_cell("time_s", 12.345), "12.3 s");
  EXPECT_EQ(format_cell("time_s", 0.9999), "1.00 s");
  EXPECT_EQ(format_cell("peak_bytes", std::int64_t{1023}), "1023 B");
  EXPECT_EQ(format_cell("peak_bytes", std::int64_t{1024}), "1.00 KiB");
  EXPECT_EQ(format_cell("bus_bandwidth_bytes_per_s", 1.9e9 / 8), "238 MB/s");
  EXPECT_EQ(format_cell("flops_per_s", 2.1e11), "210 GFLOP/s");
  EXPECT_EQ(format_cell("tokens_per_s", 12345.0), "12345");
  EXPECT_EQ(format_cell("parameters", std::int64_t{999}), "999");
  EXPECT_EQ(format_cell("active_parameters", std::int64_t{12'879'925'248}), "12.9 billion");
  EXPECT_EQ(format_cell("beta_s_per_unit", 4e-9), "4e-09");
  EXPECT_EQ(format_cell("predicted_speedup", 1.234), "1.23x");
  EXPECT_EQ(format_cell("max_over_mean", 1.6), "1.60x");
  EXPECT_EQ(format_cell("prediction_error", -0.051), "-5.1%");
  EXPECT_EQ(format_cell("started_at", 86400.0), "1970-01-02 00:00:00");
  EXPECT_EQ(format_cell("measured_s", std::monostate{}), "-");
}

TEST(FormatRows, TheUnitOfARowIsThatOfItsFigures) {
  EXPECT_EQ(format_cell("beta_s_per_unit", 4e-9, "byte"), "4.00 ns/byte");
  EXPECT_EQ(format_cell("beta_s_per_unit", 4.76e-12, "flop"), "4.76 ps/flop");
  EXPECT_EQ(format_cell("beta_s_per_unit", 1.5e-14, "flop"), "15.0 fs/flop");
  EXPECT_EQ(format_cell("units_per_s", 2.5e8, "byte"), "250 MB/s");
  EXPECT_EQ(format_cell("units_per_s", 2.1e11, "flop"), "210 GFLOP/s");
  EXPECT_EQ(format_cell("max_units", 2048.0, "byte"), "2.00 KiB");
  EXPECT_EQ(format_cell("max_units", 2048.0, "row"), "2048");
  EXPECT_EQ(format_cell("samples", std::int64_t{7}, "byte"), "7");
  EXPECT_EQ(written({{"beta_s_per_unit", "unit", "units_per_s"},
                     {{4e-9, "byte", 2.5e8}, {1e-12, "flop", 1e12}}},
                    {}),
            "beta_s_per_unit  unit   units_per_s\n"
            "   4.00 ns/byte  byte      250 MB/s\n"
            "   1.00 ps/flop  flop  1.00 TFLOP/s\n");
}

TEST(FormatRows, LongAndMultilineTextsStayOnOneLine) {
  EXPECT_EQ(format_cell("error", std::string("a\nb\x1b[31m")), "a\\nb\\x1b[31m");
  EXPECT_EQ(format_cell("error", std::string(100, 'x')), std::string(60, 'x') + "...");
}

TEST(FormatRows, WidthsCountCharactersNotBytes) {
  EXPECT_EQ(written({{"name", "n"}, {{"\xc3\xa9t\xc3\xa9s", std::int64_t{1}}}}, {}),
            "name  n\n\xc3\xa9t\xc3\xa9s  1\n");
}

TEST(FormatRows, ManyRowsStreamInTheWidthsOfTheFirst) {
  Rows rows{{"n"}, {}};
  for (std::int64_t i = 0; i < 3000; ++i) rows.cells.push_back({i});
  const auto text = written(rows, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3001);
  EXPECT_NE(text.find("\n2999\n"), std::string::npos);
}

TEST(FormatRows, WhoWatchesSeesEveryRow) {
  for (const Format format : {Format::table, Format::csv}) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* file = open_memstream(&text, &size);
    RowWriter writer(file, {format, false}, {"step", "loss"});
    writer.row({std::int64_t{1}, 5.5});
    writer.flush();
    EXPECT_EQ(std::string(text, size),
              format == Format::csv ? "step,loss\n1,5.5\n" : "step  loss\n   1   5.5\n");
    writer.row({std::int64_t{2}, 4.5});
    writer.flush();
    EXPECT_EQ(std::string(text, size), format == Format::csv
                                           ? "step,loss\n1,5.5\n2,4.5\n"
                                           : "step  loss\n   1   5.5\n   2   4.5\n");
    writer.finish();
    std::fclose(file);
    std::free(text);
  }
}

TEST(FormatRows, ColorsOnlyWhereAsked) {
  const Rows rows{{"status"}, {{"failed"}}};
  EXPECT_EQ(written(rows, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(written(rows, {Format::table, true}).find("\x1b[31mfailed"), std::string::npos);
  EXPECT_TRUE(use_color("always", stdout));
  EXPECT_FALSE(use_color("never", stdout));
}

TEST(FormatRows, FormatsHaveThreeNames) {
  EXPECT_EQ(parse_format("csv"), Format::csv);
  EXPECT_EQ(parse_format("xml"), std::nullopt);
}

TEST(FormatRows, AFullDiskIsAnError) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"),
                                                             std::fclose);
  ASSERT_NE(full, nullptr);
  EXPECT_THROW(write_rows(full.get(), {Format::csv, false}, sample_rows()), OutputError);
}

TEST(FormatRows, AFullDiskIsNamedAlsoWhereAnothersFlushMetIt) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"),
                                                             std::fclose);
  ASSERT_NE(full, nullptr);
  RowWriter writer(full.get(), {Format::json, false}, {"n"});
  EXPECT_NE(std::fflush(full.get()), 0);
  errno = 0;
  try {
    writer.row({std::int64_t{1}});
    FAIL() << "accepted";
  } catch (const OutputError& error) {
    EXPECT_STREQ(error.what(), "stdout: cannot be written: No space left on device");
  }
}

}  // namespace
}  // namespace db::format_rows_test
