// main() of programs whose tests run on all ranks of an MPI job. Started by mpirun, see
// CMakeLists.txt. Prints what differs on each rank and exits with 1 if anything did.
#include "tests/moe/communicator/mpi_test_main.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace moe::test {

Communicator* world = nullptr;

}  // namespace moe::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto mpi = moe::make_mpi_world();
  moe::test::world = mpi.get();
  if (mpi->rank != 0) {
    // One rank tells what passed; all tell what failed.
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) {
          std::fprintf(stderr, "rank %d: %s:%d: %s\n", moe::test::world->rank, result.file_name(),
                       result.line_number(), result.message());
        }
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  const int result = RUN_ALL_TESTS();
  moe::finalize_mpi();
  return result;
}
