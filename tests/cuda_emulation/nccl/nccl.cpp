#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/cuda_emulation/nccl/communicator.h"
#include "tests/cuda_emulation/nccl/faults.h"
#include "tests/cuda_emulation/nccl/kernel.h"
#include "tests/cuda_emulation/stream.h"

/// The calls of NCCL: what NCCL's rules forbid is refused here, before anything is done. In
/// non-blocking mode a call is carried out at once or, as the seed has it, when
/// ncclCommGetAsyncError is asked for the first to third time.
namespace moelab::cuda_emulation::nccl {
namespace {

/// A call that ends with `code`; its text is the thread's last error.
struct Refused {
  ncclResult_t code;
  std::string text;
};

struct Group {
  struct Call {
    ncclComm_t comm;
    NcclCall call;
    cudaStream_t stream;
  };
  int depth = 0;
  std::vector<Call> calls;
  std::vector<ncclComm_t> aborts;
  ncclResult_t error = ncclSuccess;  ///< the first of a call in the group
};

thread_local Group group;
thread_local std::string last_error;

/// Runs `body`, which throws Refused.
template <typename Body>
ncclResult_t guarded(const char* name, const Body& body) {
  ncclResult_t code = ncclSystemError;
  try {
    return body();
  } catch (const Refused& refused) {
    code = refused.code;
    last_error = std::string(name) + ": " + refused.text;
  } catch (const std::invalid_argument& error) {
    code = ncclInvalidArgument;
    last_error = error.what();
  } catch (const std::exception& error) {
    last_error = std::string(name) + ": " + error.what();
  }
  if (group.depth > 0 && group.error == ncclSuccess) group.error = code;
  return code;
}

/// Holds a communicator for one host thread during a call.
class InCall {
 public:
  explicit InCall(ncclComm_t comm) : comm_(comm) {
    if (!is_communicator(comm)) {
      throw Refused{ncclInvalidArgument, "this is not a communicator, or no longer one"};
    }
    if (comm->in_call.exchange(true)) {
      throw Refused{ncclInvalidUsage, "another thread is in a call on the same communicator"};
    }
  }
  ~InCall() { comm_->in_call = false; }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  ncclComm_t comm_;
};

/// Throws unless a new call may begin on `comm`.
void expect_idle(ncclComm& comm) {
  if (const ncclResult_t code = comm.failure(); code != ncclSuccess) {
    throw Refused{code, comm.failure_text()};
  }
  if (comm.finalized) throw Refused{ncclInvalidUsage, "after ncclCommFinalize"};
  if (comm.pending) {
    throw Refused{ncclInvalidUsage,
                  "before ncclCommGetAsyncError said that " + comm.pending->call + " is done"};
  }
}

/// 0 to 3: how often a call says ncclInProgress.
int draw_polls(ncclComm& comm) {
  std::uint64_t x = seed() * 0x9e3779b97f4a7c15u + comm.calls++ * 0xbf58476d1ce4e5b9u +
                    static_cast<std::uint64_t>(comm.rank) * 0x94d049bb133111ebu;
  x = (x ^ x >> 29) * 0xff51afd7ed558ccdu;
  return static_cast<int>((x ^ x >> 32) % 4);
}

/// Waits for what `advance` does, as a blocking communicator does.
ncclResult_t finish(ncclComm& comm, const std::string& call,
                    const std::function<ncclResult_t()>& advance) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const ncclResult_t code = advance();
    if (code != ncclInProgress) return code;
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (waited.count() > nccl_limit_s()) {
      comm.fail(ncclSystemError, call + " has waited too long for other ranks");
      return comm.failure();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// Begins what `advance` does.
ncclResult_t begin(ncclComm& comm, std::string call, std::function<ncclResult_t()> advance) {
  ncclResult_t code = ncclInProgress;
  int polls = 0;
  if (comm.blocking) {
    code = finish(comm, call, advance);
  } else {
    polls = draw_polls(comm);
    if (polls == 0) code = advance();
  }
  if (code == ncclInProgress) {
    comm.pending = std::make_unique<Pending>(Pending{std::move(call), polls, std::move(advance)});
  } else if (code != ncclSuccess) {
    throw Refused{code, comm.failure_text()};
  }
  return code;
}

void expect_apart(const NcclCall& call, std::int64_t from_bytes, std::int64_t to_bytes,
                  std::int64_t in_place) {
  if (from_bytes == 0 || to_bytes == 0 || call.from == call.to + in_place) return;
  if (call.from + from_bytes <= call.to || call.to + to_bytes <= call.from) return;
  throw Refused{ncclInvalidUsage, "its buffers overlap, and not as an operation in place"};
}

/// Throws where the arguments of a call are wrong on their own.
void expect_valid(const ncclComm& comm, const NcclCall& call) {
  if (!is_known(call.type)) throw Refused{ncclInvalidArgument, "an unknown type"};
  if (call.count < 0) throw Refused{ncclInvalidArgument, "a negative count"};
  const bool has_peer =
      is_message(call.op) || call.op == NcclOp::broadcast || call.op == NcclOp::reduce;
  if (has_peer && (call.peer < 0 || call.peer >= comm.size)) {
    throw Refused{ncclInvalidArgument, "rank " + std::to_string(call.peer) +
                                           " of a communicator of " + std::to_string(comm.size)};
  }
  const bool is_root = call.peer == comm.rank;
  const std::int64_t block = call.count * bytes_of(call.type), all = block * comm.size;
  std::int64_t from = block, to = block, in_place = 0;
  if (call.op == NcclOp::all_gather) to = all, in_place = comm.rank * block;
  if (call.op == NcclOp::reduce_scatter) from = all, in_place = -comm.rank * block;
  if (call.op == NcclOp::receive || (call.op == NcclOp::broadcast && !is_root)) from = 0;
  if (call.op == NcclOp::send || (call.op == NcclOp::reduce && !is_root)) to = 0;
  check_device_pointer(call.from, static_cast<std::size_t>(from), name_of(call.op));
  check_device_pointer(call.to, static_cast<std::size_t>(to), name_of(call.op));
  expect_apart(call, from, to, in_place);
}

/// Throws where memory that a message of the group is received in is that of another message: they
/// travel at the same time.
void expect_messages_apart(const std::vector<NcclCall>& calls) {
  const auto begin_of = [](const NcclCall& call) {
    return call.op == NcclOp::receive ? call.to : call.from;
  };
  const auto end_of = [&](const NcclCall& call) {
    return begin_of(call) + call.count * bytes_of(call.type);
  };
  for (const NcclCall& into : calls) {
    if (into.op != NcclOp::receive || into.count == 0) continue;
    for (const NcclCall& other : calls) {
      if (&other == &into || !is_message(other.op) || other.count == 0) continue;
      if (end_of(into) <= begin_of(other) || end_of(other) <= begin_of(into)) continue;
      throw Refused{ncclInvalidUsage, "two messages of the group use the same memory"};
    }
  }
}

/// Launches what a thread's group has collected, as one kernel for each communicator.
ncclResult_t launch_group() {
  const std::vector<Group::Call> calls = std::exchange(group.calls, {});
  std::vector<std::pair<ncclComm_t, NcclKernel>> kernels;
  for (const Group::Call& one : calls) {
    auto at = kernels.begin();
    while (at != kernels.end() && at->first != one.comm) ++at;
    if (at == kernels.end()) at = kernels.insert(at, {one.comm, NcclKernel{one.stream, {}}});
    if (at->second.stream != one.stream) {
      throw Refused{ncclInvalidUsage,
                    "the calls of a group are on several streams, which this "
                    "emulation of NCCL does not know"};
    }
    at->second.calls.push_back(one.call);
  }
  ncclResult_t result = ncclSuccess;
  for (auto& [comm, kernel] : kernels) {
    expect_messages_apart(kernel.calls);
    const InCall in_call(comm);
    expect_idle(*comm);
    const std::string text = text_of(kernel);
    ncclComm& to_launch_on = *comm;
    const ncclResult_t code = begin(*comm, text, [&to_launch_on, kernel] {
      launch(to_launch_on, kernel);
      return ncclSuccess;
    });
    if (code != ncclSuccess) result = code;
  }
  return result;
}

ncclResult_t add_call(NcclCall call, ncclComm_t comm, cudaStream_t stream) {
  return guarded(name_of(call.op), [&] {
    {
      const InCall in_call(comm);
      expect_idle(*comm);
      expect_valid(*comm, call);
    }
    group.calls.push_back({comm, call, stream});
    return group.depth > 0 ? ncclSuccess : launch_group();
  });
}

ncclResult_t add_reduction(NcclCall call, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (op == ncclSum) return add_call(call, comm, stream);
  return guarded(name_of(call.op), []() -> ncclResult_t {
    throw Refused{ncclInvalidArgument, "an unknown reduction"};
  });
}

NcclCall make_call(NcclOp op, const void* from, void* to, std::size_t count, ncclDataType_t type,
                   int peer = -1) {
  return {op,
          type,
          static_cast<std::int64_t>(count),
          peer,
          static_cast<const std::byte*>(from),
          static_cast<std::byte*>(to)};
}

/// Frees a communicator when no kernel of its device runs, as freeing device memory would wait for
/// them. Where they do not end it stays, and stderr says so.
bool free_when_idle(ncclComm_t comm) {
  const LaunchOrder& order = launch_order(comm->device);
  const auto begin = std::chrono::steady_clock::now();
  while (comm->ended != comm->launched || order.running != 0) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (waited.count() > nccl_limit_s()) {
      std::fprintf(stderr, "ncclCommAbort: kernels of NCCL do not end on device %d\n",
                   comm->device);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  delete comm;
  return true;
}

/// All at once, because each waits for the kernels of all.
ncclResult_t abort_all(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) {
    comm->aborted = true;
    comm->self().stage = Stage::aborted;
  }
  bool all_freed = true;
  for (const ncclComm_t comm : comms) all_freed = free_when_idle(comm) && all_freed;
  return all_freed ? ncclSuccess : ncclSystemError;
}

void expect_no_group() {
  if (group.depth > 0) {
    throw Refused{ncclInvalidUsage, "in a group, which this emulation of NCCL does not know"};
  }
}

}  // namespace
}  // namespace moelab::cuda_emulation::nccl

using namespace moelab::cuda_emulation::nccl;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded("ncclGetUniqueId", [&] {
    const SegmentPlace place = Segment::make();
    static_assert(sizeof place <= sizeof id->internal);
    *id = {};
    std::memcpy(id->internal, &place, sizeof place);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return guarded("ncclCommInitRankConfig", [&] {
    expect_no_group();
    const ncclConfig_t standard = NCCL_CONFIG_INITIALIZER;
    if (config != nullptr && config->magic != standard.magic) {
      throw Refused{ncclInvalidArgument, "a configuration without NCCL_CONFIG_INITIALIZER"};
    }
    if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) {
      throw Refused{ncclInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                             std::to_string(ranks) + ": expected one of at most " +
                                             std::to_string(kMostRanks)};
    }
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) throw Refused{ncclSystemError, "no device"};
    SegmentPlace place;
    std::memcpy(&place, id.internal, sizeof place);
    const bool blocking = config == nullptr || config->blocking != 0;
    *comm = new ncclComm(place, rank, ranks, device, blocking);
    ncclComm& made = **comm;
    return begin(made, "ncclCommInitRankConfig", [&made] { return meet(made); });
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made,
                           ncclConfig_t* config) {
  return guarded("ncclCommSplit", [&] {
    expect_no_group();
    const InCall in_call(comm);
    expect_idle(*comm);
    if (color < 0 || config != nullptr) {
      throw Refused{ncclInvalidArgument,
                    "a colour below 0 or a configuration of its own, which "
                    "this emulation of NCCL does not know"};
    }
    const std::int64_t number = begin_split(*comm, color, key);
    begin(*comm, "ncclCommSplit", [comm, number, made] {
      ncclComm_t part = nullptr;
      const ncclResult_t code = advance_split(*comm, number, &part);
      if (code != ncclSuccess) return code;
      *made = part;
      begin(*part, "ncclCommSplit", [part] { return meet(*part); });
      return ncclSuccess;
    });
    return ncclSuccess;  // as NCCL does: only ncclCommGetAsyncError says that it is under way
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  return guarded("ncclCommGetAsyncError", [&] {
    const InCall in_call(comm);
    *state = comm->failure();
    if (*state != ncclSuccess || !comm->pending) return ncclSuccess;
    *state = ncclInProgress;
    if (--comm->pending->polls > 0) return ncclSuccess;
    try {
      *state = comm->pending->advance();
    } catch (const Refused& refused) {
      comm->fail(refused.code, refused.text);
    } catch (const std::exception& error) {
      comm->fail(ncclSystemError, comm->pending->call + ": " + error.what());
    }
    if (comm->failure() != ncclSuccess) *state = comm->failure();
    if (*state != ncclInProgress) comm->pending.reset();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return guarded("ncclCommFinalize", [&] {
    expect_no_group();
    const InCall in_call(comm);
    expect_idle(*comm);
    return begin(*comm, "ncclCommFinalize", [comm] { return advance_end(*comm); });
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return guarded("ncclCommDestroy", [&] {
    expect_no_group();
    {
      const InCall in_call(comm);
      if (!comm->finalized) {
        expect_idle(*comm);
        const ncclResult_t code =
            finish(*comm, "ncclCommDestroy", [comm] { return advance_end(*comm); });
        if (code != ncclSuccess) throw Refused{code, comm->failure_text()};
      }
    }
    delete comm;
    return ncclSuccess;
  });
}

/// May be called while another thread is in a call on the communicator.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return guarded("ncclCommAbort", [&] {
    if (!is_communicator(comm)) {
      throw Refused{ncclInvalidArgument, "this is not a communicator, or no longer one"};
    }
    if (group.depth == 0) return abort_all({comm});
    group.aborts.push_back(comm);
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t code) {
  switch (code) {
    case ncclSuccess:
      return "no error";
    case ncclSystemError:
      return "system error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm != nullptr && is_communicator(comm) ? comm->failure_text() : last_error.c_str();
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return guarded("ncclGroupEnd", [&] {
    if (group.depth == 0) throw Refused{ncclInvalidUsage, "without ncclGroupStart"};
    if (--group.depth > 0) return ncclSuccess;
    const ncclResult_t error = std::exchange(group.error, ncclSuccess);
    const std::vector<ncclComm_t> aborts = std::exchange(group.aborts, {});
    if (!aborts.empty()) return abort_all(aborts);
    if (error == ncclSuccess) return launch_group();
    group.calls.clear();
    return error;
  });
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add_reduction(make_call(NcclOp::all_reduce, from, to, count, type), op, comm, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_call(make_call(NcclOp::all_gather, from, to, count, type), comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add_reduction(make_call(NcclOp::reduce_scatter, from, to, count, type), op, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return add_call(make_call(NcclOp::broadcast, from, to, count, type, root), comm, stream);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return add_reduction(make_call(NcclOp::reduce, from, to, count, type, root), op, comm, stream);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add_call(make_call(NcclOp::send, from, nullptr, count, type, peer), comm, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_call(make_call(NcclOp::receive, nullptr, to, count, type, peer), comm, stream);
}
