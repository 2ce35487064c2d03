#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// Refusals, and failures of the environment. A broken contract between functions is a
/// std::invalid_argument or a std::logic_error. It is a bug, and nobody catches it as an answer.
namespace moe {

/// The place in a training where an error occurred, as far as it is known.
struct Where {
  std::string op{};  ///< the name of the op
  std::optional<int> layer{};
  std::optional<int> rank{};

  friend bool operator==(const Where&, const Where&) = default;
};

/// A schedule, model, layout or request is not legal. This is an answer. A planner may leave a
/// candidate out because of it. A program prints it and ends with 2.
/// what() is "SUBJECT: REASON: WAY_OUT", without the parts that are empty, for example
/// "pipeline_split: 9 chunks (layer 1, forward): a rank sends 8 rows: expected at most 8 chunks".
struct Refusal : std::runtime_error {
  /// `subject` names the refused thing, with its file and line if it came from a file.
  Refusal(std::string_view subject, std::string_view reason, std::string way_out, Where where = {});

  std::string reason;   ///< the reason, with the subject before it
  std::string way_out;  ///< a request that would be legal instead
  Where where;
};
/// The same refusal, for a `subject` that could not be made because of it. The subject comes first.
Refusal within(std::string_view subject, const Refusal& refusal);

/// The program was built without a feature that it needs, or a device is not there.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A plan or an allocation needs more memory than there is.
struct OutOfMemory : std::runtime_error {
  explicit OutOfMemory(const std::string& what, std::int64_t bytes = 0, Where where = {});

  std::int64_t bytes;  ///< the bytes that were asked for; 0 where that is not known
  Where where;
};
/// A call of the CUDA runtime or of cuBLAS failed. The message says which call, where and why.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A wait ended at its time limit. The message says who waited, for whom, and in which operation.
struct TimeLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A communication failed or another rank gave up.
struct CommunicationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A communication cannot finish because a signal asked one of its ranks to end (stop.h).
struct Interrupted : CommunicationError {
  Interrupted(const std::string& what, int signal) : CommunicationError(what), signal(signal) {}
  int signal;
};
/// A model, schedule, cluster or data file is wrong. The message says the file, the line and what
/// was expected.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A checkpoint could not be written (`exit_code` 1) or read (2). All ranks throw it together. The
/// message says the file, the tensor and the reason.
struct CheckpointError : std::runtime_error {
  CheckpointError(const std::string& what, int exit_code)
      : std::runtime_error(what), exit_code(exit_code) {}
  int exit_code;
};

/// A loss is not finite. The message says the iteration, layer, op and tensor where it began.
struct NotFinite : std::runtime_error {
  NotFinite(const std::string& what, Where where);

  Where where;
};

/// The code that a program ends with: 124 for TimeLimit, 128 + the signal for Stopped (stop.h),
/// that of a CheckpointError, db::exit_code() for the database's errors, 2 for wrong use, refusals,
/// wrong input and Unavailable, 3 for OutOfMemory and std::bad_alloc, 1 for all other errors.
int exit_code(const std::exception& error);

}  // namespace moe
