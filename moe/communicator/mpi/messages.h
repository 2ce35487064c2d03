#pragma once

// MPI's C interface alone: its C++ one has been withdrawn.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "moe/communicator/communicator.h"

/// Point-to-point messages over MPI, on which all collectives of the MPI communicator are built.
///
/// All groups share one MPI_Comm and differ in tags: splitting therefore makes no blocking MPI call
/// (MPI_Comm_split spins, and would deadlock between threads that split at the same time), and
/// nothing has to be freed. Every call into MPI is made under one lock of the process, so that
/// serialized thread use is enough; no call under it waits.
namespace moe {

/// What the tag of a message says beside its group.
enum class Channel : int { data = 0, result = 1, gave_up = 2 };

/// A communicator as MPI sees it.
struct MpiGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> world_ranks;
  int rank = 0;         ///< index in world_ranks
  int context = 0;      ///< tells this group's messages from those of others with the same members
  std::string failure;  ///< why it cannot be used any more
  /// What reductions receive into; kept, as fresh pages cost more than adding what is in them.
  std::vector<std::byte> scratch{};
  std::int64_t sent_bytes = 0;  ///< to other ranks, so far

  int size() const { return static_cast<int>(world_ranks.size()); }
};

/// Held around every call into MPI.
std::mutex& mpi_mutex();

/// Throws CommunicationError naming `call` and MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, std::string_view call);

int tag_of(const MpiGroup& group, Channel channel);

/// Tells every other member that this one will not go on; returns at once, throws nothing.
void announce_failure(const MpiGroup& group, const std::string& why) noexcept;

/// True once a member of any group has told this process that it gave up.
bool another_rank_gave_up();

/// Messages that were abandoned after a failure and may still be under way: MPI cannot be
/// finalised with them.
int abandoned_messages();

/// The sends and receives of one collective on one group. Messages of any length; those from the
/// same sender on the same channel arrive in the order in which they were sent. What still runs
/// when it is destroyed (after an exception) is cancelled or abandoned.
class MpiMessages {
 public:
  /// Throws CommunicationError when the group failed before or another member is known to have
  /// given up.
  MpiMessages(MpiGroup& group, const CallContext& call, std::string_view collective);
  ~MpiMessages();
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  void send(const void* data, std::int64_t bytes, int peer, Channel channel = Channel::data);
  void receive(void* data, std::int64_t bytes, int peer, Channel channel = Channel::data);

  /// Requests started so far: the position of the next one.
  int posted() const { return static_cast<int>(requests_.size()); }
  /// Waits, testing and sleeping, until the requests [begin, end) are done; the others make
  /// progress meanwhile. Throws TimeLimit naming the ranks whose messages are missing, or
  /// CommunicationError when MPI reports one or another member gave up.
  void wait(int begin, int end);
  void wait_all() { wait(0, posted()); }

 private:
  bool test(int begin, int end);
  void throw_if_another_gave_up();
  [[noreturn]] void fail_at_limit(int begin, int end);

  MpiGroup& group_;
  const CallContext& call_;
  std::string what_;
  std::chrono::steady_clock::time_point start_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  ///< by request
  std::vector<bool> receives_;
  std::vector<int> finished_;  ///< scratch of test()
  std::vector<MPI_Status> statuses_;
};

}  // namespace moe
