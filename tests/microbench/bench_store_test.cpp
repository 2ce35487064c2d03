#include "microbench/bench_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "db/load.h"
#include "db/transaction.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace microbench::bench_store_test {
namespace {

class BenchStoreTest : public testing::Test {
 protected:
  db::TemporaryDirectory directory;
  std::string path = directory.file("a.db");

  BenchStore make_store(double time_limit_s = 0.3) const {
    return BenchStore(path, db::sample_run(0), std::vector<moe::RankInfo>(1), {2}, time_limit_s);
  }
  static db::SampledMeasurement row(std::int64_t bytes) {
    db::Measurement measurement;
    measurement.op = "host_copy";
    measurement.device = "cpu";
    measurement.dtype = "u64";
    measurement.parameters_json = "{}";
    measurement.ranks = 1;
    measurement.bytes = bytes;
    return {measurement, {0.001, 0.002}, 0.002, {{0, 0, 0.0015, 0.001, 0.002}}};
  }
  db::Connection reader() const { return db::open_reader(path); }
  std::size_t stored() const { return db::load_measurements(reader()).size(); }
};

TEST_F(BenchStoreTest, ARowIsStoredAsSoonAsItIsMeasured) {
  BenchStore store = make_store();
  store.add(row(8));
  const auto rows = db::load_measurements(reader());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].bytes, 8);
  EXPECT_EQ(rows[0].run_id, store.run_id());
  EXPECT_EQ(db::load_run(reader(), store.run_id()).status, "running");
  EXPECT_EQ(db::load_sampled_measurements(reader(), store.run_id())[0].quantiles.size(), 2u);
  EXPECT_EQ(db::load_measurement_ranks(reader(), rows[0].id).at(0).time_s, 0.0015);
}

TEST_F(BenchStoreTest, AnothersLockDelaysStoringButNotMeasuring) {
  // With this limit a row that waited for the lock would hold the test for an hour.
  BenchStore store = make_store(3600);
  auto other = db::open_writer(path);
  {
    const db::Transaction lock(other, "hold the database");
    store.add(row(8));
    store.add(row(16));
    EXPECT_EQ(stored(), 0u);
  }
  store.add(row(32));
  EXPECT_EQ(stored(), 3u);
  store.finish("done", "");
  EXPECT_EQ(db::load_run(reader(), store.run_id()).status, "done");
}

TEST_F(BenchStoreTest, ALockThatLastsBeyondTheEndIsAnErrorOnlyWhereNothingElseFailed) {
  BenchStore store = make_store();
  auto other = db::open_writer(path);
  const db::Transaction lock(other, "hold the database");
  store.add(row(8));
  try {
    store.finish("done", "");
    FAIL() << "what could not be stored was no error";
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::locked);
  }
  store.abandon("failed", "a rank gave up");
}

TEST_F(BenchStoreTest, ADatabaseThatIsTakenAwayEndsTheRun) {
  BenchStore store = make_store();
  std::filesystem::remove(path);
  try {
    store.add(row(8));
    FAIL() << "a row went into a file without a name";
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::gone);
  }
}

}  // namespace
}  // namespace microbench::bench_store_test
