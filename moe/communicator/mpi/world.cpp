#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>

#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/mpi/messages.h"
#include "moe/communicator/mpi/peers.h"
#include "moe/communicator/mpi/start_watch.h"
#include "moe/communicator/mpi/told_work.h"
#include "moe/communicator/mpi/transport.h"
#include "moe/communicator/subgroup.h"
#include "moe/errors.h"

/// Ranks that are processes of an MPI job. Their collectives are in collectives/.
namespace moe {
namespace {

/// The context of the k-th group that a leader (rank 0 of the parent) named is leader *
/// kSplitsPerLeader + k. So no two groups of a process share one, without any communication.
constexpr int kSplitsPerLeader = 4096;
std::atomic<int> splits_led = 1;  // 0 is the world of leader 0

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(MpiGroup group)
      : Communicator(group.rank, group.size()),
        group_(std::move(group)),
        exceptions_at_birth_(std::uncaught_exceptions()) {
    arrived_s_ = group_.arrived_s;
  }

  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_at_birth_ && group_.failure.empty()) {
      announce_failure(group_, fmt::format("rank {} ended with an exception", world_rank()));
    }
  }

  /// After an exception this group is of no use, and the other members must not wait for us.
  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(what, size, [&](const auto& one) {
      try {
        carry_out(group_, one, call);
        sent_bytes_ = group_.sent_bytes;
      } catch (const std::exception& error) {
        sent_bytes_ = group_.sent_bytes;
        if (group_.failure.empty()) {
          group_.failure = error.what();
          announce_failure(group_, error.what());
        }
        throw;
      }
    });
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
    return std::make_unique<MpiCommunicator>(part_of(group_, ranks, self, context));
  }

 private:
  int world_rank() const { return group_.world_ranks[rank]; }

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
  std::optional<PacedLinks> links;  ///< none outside of a paced box
  std::vector<Peer> peers;          ///< by rank of `comm`
  std::optional<WorkTeller> teller;
};

ProcessComm& of_this_process() {
  static ProcessComm process;
  return process;
}

/// The one MPI_Comm of this process, made on first use; the caller holds the lock.
const ProcessComm& process_comm(double start_limit_s) {
  ProcessComm& process = of_this_process();
  if (process.comm != MPI_COMM_NULL) return process;
  const bool initialized = is_initialized();
  // Before the first thread: others read the environment without a lock.
  if (!initialized) set_transport_defaults();
  const StartWatch watch(start_limit_s);
  int level = MPI_THREAD_SERIALIZED;
  if (initialized) {
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw CommunicationError("this MPI offers no serialized thread use (MPI_THREAD_SERIALIZED)");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &process.comm), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(process.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (auto box = paced_box()) process.links.emplace(std::move(*box));
  process.peers = peers_of(process.comm, process.links ? &*process.links : nullptr);
  int rank = 0, ranks = 0;
  check_mpi(MPI_Comm_rank(process.comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(process.comm, &ranks), "MPI_Comm_size");
  process.teller.emplace(process.comm, rank, ranks, start_limit_s);
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
    group.peers = process.peers;
    int size = 0;
    check_mpi(MPI_Comm_size(group.comm, &size), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(group.comm, &group.rank), "MPI_Comm_rank");
    std::vector<int> node_of;
    for (int rank = 0; rank < size; ++rank) {
      group.world_ranks.push_back(rank);
      node_of.push_back(group.peers[rank].node);
    }
    group.nodes = group_nodes(node_of);
    group.arrived_s.resize(group.world_ranks.size());
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
  if (of_this_process().teller) of_this_process().teller->end();
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
    // The rank that gave up first knows why, so its exit code shall be that of the job.
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
