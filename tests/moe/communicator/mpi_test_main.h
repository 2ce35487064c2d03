#pragma once

#include "moe/communicator/communicator.h"

namespace moe::test {

/// All ranks of the job, in a program of tests whose main() is that of mpi_test_main.cpp.
extern Communicator* world;

}  // namespace moe::test
