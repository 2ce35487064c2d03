#include "db/listings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/db/sample.h"

namespace db::listings_test {
namespace {

const Listing& listing(const std::string& command) {
  for (const Listing& each : all_listings()) {
    if (each.command == command) return each;
  }
  throw std::out_of_range(command);
}

std::string written(const Connection& connection, const std::string& command, Format format,
                    const std::map<std::string, std::string>& values = {}, std::int64_t limit = 0) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  write_listing(file, {format, false}, connection, listing(command), values, limit);
  std::fclose(file);
  std::string copy(text, size);
  std::free(text);
  return copy;
}

TEST(Listings, EveryOneWorksInEveryFormatAndWithEveryFilter) {
  auto connection = open_writer(":memory:");
  store_sample(connection);
  for (const Listing& each : all_listings()) {
    for (const Format format : {Format::table, Format::csv, Format::json}) {
      EXPECT_NE(written(connection, each.command, format), "") << each.command;
    }
    for (const ListingFilter& filter : each.filters) {
      EXPECT_EQ(written(connection, each.command, Format::json, {{filter.option, "no such"}}),
                "[]\n")
          << each.command << " " << filter.option;
    }
  }
}

TEST(Listings, FiltersNumbersGivenAsText) {
  auto connection = open_writer(":memory:");
  store_sample(connection);
  const auto spans = nlohmann::json::parse(written(
      connection, "spans", Format::json, {{"--timeline", "1"}, {"--rank", "1"}, {"--layer", "1"}}));
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0]["rank"], 1);
  EXPECT_EQ(nlohmann::json::parse(written(connection, "spans", Format::json, {}, 2)).size(), 2U);
}

TEST(Listings, TrialsAreFastestFirstAndShowSpeedup) {
  auto connection = open_writer(":memory:");
  store_sample(connection);
  const auto trials = nlohmann::json::parse(written(connection, "trials", Format::json));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0]["planner"], "tutel");
  EXPECT_EQ(trials[0]["speedup"], 2.0);
  EXPECT_EQ(trials[0]["parameters"]["forward_chunks"], 2);
  EXPECT_EQ(trials[2]["status"], "out_of_memory");
}

TEST(Listings, TablesOfTrialsHaveLossesWhereOneChangesResults) {
  auto connection = open_writer(":memory:");
  const Sample sample = store_sample(connection);
  EXPECT_EQ(written(connection, "trials", Format::table).find("loss"), std::string::npos);
  Schedule schedule{0, "", "given", R"({"decisions":"bf16"})", "compress_exchange"};
  Trial trial;
  trial.study_id = sample.study;
  trial.schedule_id = find_or_insert(connection, schedule);
  trial.planner = "given";
  find_or_insert(connection, trial);
  const std::string table = written(connection, "trials", Format::table);
  for (const char* column : {"changes_results", "sequential_last_loss", "loss_difference"}) {
    EXPECT_NE(table.find(column), std::string::npos) << column;
  }
  EXPECT_NE(table.find("compress_exchange"), std::string::npos);
  EXPECT_EQ(written(connection, "trials", Format::table, {{"--planner", "tutel"}}).find("loss"),
            std::string::npos)
      << "of those that are listed";
}

}  // namespace
}  // namespace db::listings_test
