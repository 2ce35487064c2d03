#include "viewer/report/search_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "tests/viewer/synthetic_database.h"

namespace viewer::search_page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SearchPage : public ::testing::Test {
 protected:
  Session open(std::int64_t run) const {
    Start start;
    start.run = run;
    return open_session(connection, start);
  }

  db::Connection connection = db::open_writer(":memory:");
};

TEST_F(SearchPage, IsOnTheNewestSearchWhereThereIsNoStudy) {
  add_search(connection);
  const std::int64_t newest = add_search(connection);
  const auto facts = gather_search(open_session(connection, {}));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->run.id, newest);
  EXPECT_EQ(facts->setups.size(), 4U);
}

TEST_F(SearchPage, IsOnASearchBesideAStudyOnlyWhereItIsSelected) {
  const SyntheticIds ids = fill_synthetic_database(connection);
  const std::int64_t first = add_search(connection), second = add_search(connection);
  EXPECT_FALSE(gather_search(open(ids.study_run)));
  EXPECT_EQ(gather_search(open(first)).value().run.id, first);
  EXPECT_EQ(gather_search(open(second)).value().run.id, second);
}

TEST_F(SearchPage, OfADatabaseWithoutAnyThereIsNone) {
  EXPECT_FALSE(gather_search(open_session(connection, {})));
}

TEST_F(SearchPage, HasTheSetupsAndThePictureOfEachNumberOfRanks) {
  add_search(connection);
  const SearchFacts facts = gather_search(open_session(connection, {})).value();
  const std::string page = search_page(
      facts, {{"setups.png", "of four", 4, 2, "PNG"}, {"setups-2.png", "of 8", 4, 2, "PNG"}},
      search_tables(connection), "/tmp/of/results.db");
  EXPECT_THAT(page, HasSubstr("The fastest setup on 8 ranks of box is ep=8, 1 micro-batch, planned "
                              "by joint: 5.00 ms an iteration, as predicted."));
  EXPECT_THAT(page, HasSubstr("3 setups. The fastest, ep=4, 1 micro-batch, takes 10.0 ms and needs "
                              "400 MiB on the fullest rank. The least memory, 300 MiB, is that of "
                              "ep=2,tp=2, 1 micro-batch, which takes 12.0 ms."));
  EXPECT_THAT(page, HasSubstr("less than 5.00 ms: the stream compute of rank 0 bounds it."));
  EXPECT_LT(page.find("<h2>4 ranks of box"), page.find("setups.png"));
  EXPECT_LT(page.find("setups.png"), page.find("<h2>8 ranks of box"));
  EXPECT_LT(page.find("<h2>8 ranks of box"), page.find("setups-2.png"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"best\"><td>ep=4, 1 micro-batch</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>dp=2,ep=2, 1 micro-batch</td>"));
  EXPECT_THAT(page, HasSubstr("href=\"setups.csv\""));
  EXPECT_THAT(page, HasSubstr("from results.db"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

}  // namespace
}  // namespace viewer::search_page_test
