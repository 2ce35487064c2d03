#include "db/run_products.h"

#include <gtest/gtest.h>

#include <vector>

#include "db/store.h"
#include "tests/db/sample.h"

namespace db::run_products_test {
namespace {

TEST(RunProducts, AreThoseOfTheFirstTrainingThatTookThem) {
  Connection connection = open_writer(":memory:");
  std::vector<std::int64_t> runs;
  for (int i = 0; i < 2; ++i) {
    runs.push_back(insert(connection, sample_run(find_or_insert(connection, sample_machine()))));
  }
  const std::vector<RunProduct> stored{{runs[0], "cuBLAS", "a", "first", 1e-3, 2e-3},
                                       {runs[1], "cuBLAS", "a", "second", 1e-3, 2e-3},
                                       {runs[1], "cuBLAS", "b", "", 2e-3, 2e-3},
                                       {runs[1], "cuBLAS on another GPU", "a", "other", 1, 1}};
  insert(connection, stored);
  const std::vector<RunProduct> known = load_products_of(connection, "cuBLAS");
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].algorithm, "first");
  EXPECT_EQ(known[1].product, "b");
  const std::vector<RunProduct> second = load_run_products(connection, runs[1]);
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(second[0].algorithm, "second");
  EXPECT_EQ(second[0].unasked_s, 2e-3);
}

}  // namespace
}  // namespace db::run_products_test
