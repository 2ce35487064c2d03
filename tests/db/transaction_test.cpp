#include "db/transaction.h"

#include <gtest/gtest.h>

#include "db/load.h"
#include "tests/db/sample.h"

namespace db::transaction_test {
namespace {

TEST(Transaction, RollsBackUnlessCommitted) {
  auto connection = open_writer(":memory:");
  {
    const Transaction transaction(connection);
    store_sample(connection);
    EXPECT_EQ(load_runs(connection).size(), 1U);
  }
  EXPECT_TRUE(load_runs(connection).empty());
}

TEST(Transaction, KeepsWhatWasCommitted) {
  auto connection = open_writer(":memory:");
  {
    Transaction transaction(connection);
    store_sample(connection);
    transaction.commit();
  }
  EXPECT_EQ(load_runs(connection).size(), 1U);
}

TEST(Transaction, InnerOneUndoesOnlyItself) {
  auto connection = open_writer(":memory:");
  Transaction outer(connection);
  const auto machine = find_or_insert(connection, sample_machine());
  {
    const Transaction inner(connection);
    insert(connection, sample_run(machine));
  }
  insert(connection, sample_run(machine));
  outer.commit();
  EXPECT_EQ(load_runs(connection).size(), 1U);
}

TEST(Transaction, OuterOneUndoesCommittedInnerOnes) {
  auto connection = open_writer(":memory:");
  {
    const Transaction outer(connection);
    Transaction inner(connection);
    find_or_insert(connection, sample_machine());
    inner.commit();
  }
  EXPECT_EQ(find_or_insert(connection, sample_machine()), 1);  // a new row, the first
}

TEST(Transaction, AThrowUndoesTheWholeCall) {
  auto connection = open_writer(":memory:");
  const auto sample = store_sample(connection);
  std::vector<Load> loads{{sample.run, 50, 0, 0, 0, 1}, {sample.run, 50, 0, 0, 0, 2}};  // same key
  EXPECT_THROW(insert(connection, loads), Error);
  for (const Load& load : load_loads(connection, {.run_id = sample.run})) {
    EXPECT_NE(load.iteration, 50);
  }
}

}  // namespace
}  // namespace db::transaction_test
