#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "moe/communicator/communicator.h"
#include "moe/communicator/mpi/collectives.h"
#include "moe/communicator/mpi/pieces.h"
#include "moe/communicator/mpi/start_watch.h"
#include "moe/communicator/mpi/transport.h"
#include "moe/communicator/subgroup.h"
#include "moe/errors.h"

/// Ranks that are processes of an MPI job. The collectives are in mpi_collectives.h.
namespace moe {
namespace {

/// A group's context is leader * kSplitsPerLeader + k for the k-th group that this leader (the
/// parent's rank 0) named: no two groups of a process share one, without asking anybody else.
constexpr int kSplitsPerLeader = 4096;
std::atomic<int> splits_led = 1;  // 0 is the world of leader 0

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(MpiGroup group)
      : Communicator(group.rank, group.size()),
        group_(std::move(group)),
        exceptions_at_birth_(std::uncaught_exceptions()) {}

  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_at_birth_ && group_.failure.empty()) {
      announce_failure(group_, fmt::format("rank {} ended with an exception", world_rank()));
    }
  }

  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) override {
    run([&] { mpi_all_to_all_v(group_, from, send, to, receive, row_bytes, call); });
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) override {
    run([&] { mpi_all_reduce(group_, data, count, dtype, call); });
  }
  void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                  const CallContext& call) override {
    run([&] { mpi_all_gather(group_, from, to, count_per_rank, dtype, call); });
  }
  void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                      const CallContext& call) override {
    run([&] { mpi_reduce_scatter(group_, from, to, count_per_rank, dtype, call); });
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 const CallContext& call) override {
    if (root < 0 || root >= size) {
      throw std::invalid_argument(fmt::format("broadcast: root {} of {} ranks", root, size));
    }
    run([&] { mpi_broadcast(group_, data, count, dtype, root, call); });
  }
  void barrier(const CallContext& call) override {
    run([&] { mpi_barrier(group_, call); });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const int self = place_in_subgroup(ranks, rank, size);
    std::int32_t context = 0;
    if (rank == 0) {
      const int k = splits_led++;
      if (k >= kSplitsPerLeader) {
        throw CommunicationError(fmt::format("split: more than {} groups", kSplitsPerLeader - 1));
      }
      context = world_rank() * kSplitsPerLeader + k;
    }
    broadcast(&context, 1, DType::i32, 0, {.what = "split"});
    // Groups that share a context have no two ranks in common.
    MpiGroup group;
    group.comm = group_.comm;
    group.context = context;
    for (int member : ranks) {
      group.world_ranks.push_back(group_.world_ranks[member]);
      group.piece_bytes.push_back(group_.piece_bytes[member]);
    }
    group.rank = self;
    return std::make_unique<MpiCommunicator>(std::move(group));
  }

 private:
  int world_rank() const { return group_.world_ranks[rank]; }

  /// After an exception this group is of no use, and the other members must not wait for us.
  template <typename Collective>
  void run(const Collective& collective) {
    try {
      collective();
      sent_bytes_ = group_.sent_bytes;
    } catch (const std::exception& error) {
      sent_bytes_ = group_.sent_bytes;
      if (group_.failure.empty()) {
        group_.failure = error.what();
        announce_failure(group_, error.what());
      }
      throw;
    }
  }

  MpiGroup group_;
  const int exceptions_at_birth_;
};

bool is_initialized() {
  int yes = 0;
  MPI_Initialized(&yes);
  return yes != 0;
}

bool is_finalized() {
  int yes = 0;
  MPI_Finalized(&yes);
  return yes != 0;
}

/// What all groups share.
struct ProcessComm {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<std::int64_t> piece_bytes;
};

/// The one MPI_Comm of this process, made on first use; the caller holds the lock.
const ProcessComm& process_comm(double start_limit_s) {
  static ProcessComm process;
  if (process.comm != MPI_COMM_NULL) return process;
  const StartWatch watch(start_limit_s);
  int level = MPI_THREAD_SERIALIZED;
  if (is_initialized()) {
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    set_transport_defaults();
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw CommunicationError("this MPI offers no serialized thread use (MPI_THREAD_SERIALIZED)");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &process.comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(process.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  process.piece_bytes = piece_bytes_by_rank(process.comm);
  return process;
}

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Communicator> make_mpi_world(double start_limit_s) {
  static int worlds = 0;
  MpiGroup group;
  {
    const std::lock_guard lock(mpi_mutex());
    if (is_initialized() && is_finalized()) throw CommunicationError("MPI was finalised before");
    const ProcessComm& process = process_comm(start_limit_s);
    group.comm = process.comm;
    group.piece_bytes = process.piece_bytes;
    int size = 0;
    check_mpi(MPI_Comm_size(group.comm, &size), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(group.comm, &group.rank), "MPI_Comm_rank");
    for (int rank = 0; rank < size; ++rank) group.world_ranks.push_back(rank);
    void* value = nullptr;
    int there = 0;
    check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there), "MPI_TAG_UB");
    const std::int64_t largest_tag = there ? *static_cast<int*>(value) : 32767;
    if (std::int64_t{size} * kSplitsPerLeader * 4 > largest_tag + 1) {
      throw CommunicationError(
          fmt::format("{} ranks: the tags of this MPI end at {}, which allows {} ranks", size,
                      largest_tag, (largest_tag + 1) / (kSplitsPerLeader * 4)));
    }
    // Every world has a context of its own: all processes make the same worlds in the same order.
    group.context = (size - 1) * kSplitsPerLeader + kSplitsPerLeader - 1 - worlds++;
  }
  return std::make_unique<MpiCommunicator>(std::move(group));
}

void finalize_mpi() {
  const std::lock_guard lock(mpi_mutex());
  if (!is_initialized() || is_finalized()) return;
  if (abandoned_messages() > 0) {
    spdlog::error("{} messages were abandoned: ending the MPI job instead of finalising it",
                  abandoned_messages());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
}

void abort_job(int exit_code) {
  std::fflush(nullptr);
  if (is_initialized() && !is_finalized()) {
    // The rank that gave up first knows why: its exit code shall be the job's.
    if (another_rank_gave_up()) std::this_thread::sleep_for(std::chrono::seconds(2));
    // Another thread may be inside MPI, or stuck there: do not wait for it for long.
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (mpi_mutex().try_lock()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::_Exit(exit_code);
}

}  // namespace moe
