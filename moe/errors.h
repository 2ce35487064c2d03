#pragma once

#include <exception>
#include <stdexcept>

/// What can go wrong in the environment. Broken contracts are std::invalid_argument and
/// std::logic_error.
namespace moe {

/// Something the program was built without, or a device that is not there.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A plan or an allocation exceeds the memory there is; says rank, layer, bytes.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A call of the CUDA runtime or of cuBLAS failed; says which, where and why.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A wait ended at its limit; says who waited, for whom, in what.
struct TimeLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A communication failed or another rank gave up.
struct CommunicationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A model, schedule, cluster or data file is not what was expected; says file, line and
/// expectation.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A loss is not finite; says iteration, layer, op and tensor where it began.
struct NotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What every program ends with: 124 for TimeLimit, 128 + the signal for Stopped (stop.h), 2 for
/// wrong use, wrong input and what is not there, db::exit_code() for the database's errors, 1 for all
/// else.
int exit_code(const std::exception& error);

}  // namespace moe
