#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/communicator/collectives/messages.h"
#include "moe/communicator/mpi/c_interface.h"
#include "moe/communicator/mpi/pace.h"
#include "moe/communicator/mpi/peers.h"

/// Point-to-point messages over MPI.
///
/// All groups share one MPI_Comm and differ in tags. So splitting makes no blocking MPI call
/// (MPI_Comm_split spins, and would deadlock between threads that split at the same time), and
/// nothing has to be freed. Every call into MPI holds one lock of the process, so that serialized
/// thread use is enough; no call that holds it waits.
namespace moe {

/// Channels beside those of collectives. A channel is the part of a message's tag that is not its
/// group.
inline constexpr Channel kGaveUp{2}, kCredit{3};

/// A communicator as MPI sees it.
struct MpiGroup final : Group {
  /// Its waits test and sleep (pace.h), and throw Interrupted when a signal has asked the member
  /// that gave up, or this process, to end.
  std::unique_ptr<Messages> messages(const CallContext& call, std::string_view collective) override;

  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<Peer> peers;  ///< by member: what messages to it need
  int context = 0;          ///< tells the messages of groups with the same members apart
  std::string failure;      ///< why the group cannot be used any more; empty while it can
  int stop_signal = 0;  ///< the signal that ended the rank which gave up first; 0 where none did
  std::int64_t sent_to_other_nodes_bytes = 0;  ///< what of sent_bytes has gone through cards
  Pace pace;
  /// By member: when bytes of it arrived last, in seconds of steady_clock. 0 for those of this node.
  std::vector<double> arrived_s;
};

/// A group of these members of `group`, of which this process is the one at `self`.
MpiGroup part_of(const MpiGroup& group, std::span<const int> members, int self, int context);

/// Held around every call into MPI.
std::mutex& mpi_mutex();

/// Throws CommunicationError naming `call` and MPI's text unless `code` is MPI_SUCCESS.
void check_mpi(int code, std::string_view call);

int tag_of(const MpiGroup& group, Channel channel);

/// Tells every other member that this one will not go on, and which signal has asked it to end, if
/// one has; returns at once, throws nothing.
void announce_failure(const MpiGroup& group, const std::string& why) noexcept;

/// True once a member of any group has told this process that it gave up.
bool another_rank_gave_up();

/// Messages that were abandoned after a failure and may still be under way. MPI cannot be finalised
/// with them.
int abandoned_messages();

/// Messages that still run when it is destroyed (after an exception) are cancelled or abandoned.
///
/// Messages to other nodes go in fragments that MPI sends without a handshake (transport.h). Three
/// rules bound the memory of either side to a few MiB:
///   - A sender goes at most `credit_bytes` beyond what it knows the receiver to have posted. The
///     receiver sends a word each time a stream (peer, channel) has posted another credit_bytes.
///   - A receiver posts `posted_bytes` ahead of what has arrived. The difference may be under way
///     before the sender has to wait for a word.
///   - A sender hands MPI `unsent_bytes` ahead of what the kernel has taken, so that words, and
///     messages of other groups, do not queue after all of a long message.
///
/// In a paced box (paced_links.h) a fragment queues for the card of its sender when it would be
/// handed to MPI. When its first byte leaves that card, it queues for the card of its receiver.
/// MPI gets it when its last byte would have come through both.
class MpiMessages final : public Messages {
 public:
  MpiMessages(MpiGroup& group, const CallContext& call, std::string_view collective);
  ~MpiMessages() override;
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  void send(const void* data, std::int64_t bytes, int peer, Channel channel) override;
  void receive(void* data, std::int64_t bytes, int peer, Channel channel) override;
  int posted() const override { return static_cast<int>(messages_.size()); }
  void wait(int begin, int end) override;

 private:
  struct Message {
    std::byte* data = nullptr;  ///< only read where the message is sent
    std::int64_t bytes = 0;
    int peer = 0;
    std::int64_t started_bytes = 0;
    bool all_started = false;
    int fragments_under_way = 0;
    bool done() const { return all_started && fragments_under_way == 0; }
  };
  /// The messages to or from one peer on one channel, started in order.
  struct Stream {
    std::vector<int> messages{};
    std::size_t next = 0;  ///< the first of `messages` that is not wholly started
    std::int64_t started_bytes = 0;
    std::int64_t under_way_bytes = 0;
    std::int64_t words = 0;  ///< words that the receiver has sent to the sender
    bool started() const { return next == messages.size(); }
  };
  /// The purpose of an MPI request: a fragment of a message, or a receiver's word (message -1).
  struct Request {
    int message = -1;
    int stream = 0;
    int peer = 0;
    std::int64_t bytes = 0;
    bool receives() const { return message < 0 || receives_of(stream); }
  };

  /// A fragment to send that is on its way through paced links.
  struct PacedFragment {
    Request request;
    std::byte* data = nullptr;          ///< its bytes, which are only read
    double leaves_s = 0;                ///< when its first byte leaves
    std::optional<double> arrives_s{};  ///< when its last byte arrives; known once it has left
    double next_s() const { return arrives_s.value_or(leaves_s); }
  };

  /// Streams by peer, channel (data, result) and direction.
  static int stream_of(int peer, Channel channel, bool receives) {
    return 4 * peer + 2 * static_cast<int>(channel) + (receives ? 1 : 0);
  }
  static Channel channel_of(int stream) { return Channel(stream / 2 % 2); }
  static bool receives_of(int stream) { return stream % 2 == 1; }

  void add(std::byte* data, std::int64_t bytes, int peer, Channel channel, bool receives);
  void start_fragments(int stream);
  void start_fragment(int stream, std::int64_t bytes);
  /// Hands MPI a fragment to send, or memory for one to receive.
  void hand_to_mpi(const Request& request, std::byte* data);
  /// The same for paced fragments that have arrived by now.
  void hand_over_arrived(double now);
  void await_word(int peer);
  void give_word(int peer, Channel channel);
  void finish(const Request& request);
  void forget_finished();
  /// True when the messages [begin, end) are done; moves begin to the first that is not.
  bool test(int& begin, int end);
  /// The same until MPI has no more to tell.
  bool test_all(int& begin, int end);
  bool is_near(int peer) const;
  double next_sleep_s() const;
  /// Where another member gave up, and messages [begin, end) are still missing from it or others.
  void throw_if_another_gave_up(int& begin, int end);
  /// True where a member's word that it gave up is there and not yet read.
  bool is_told(MPI_Status& status) const;
  void fail_unless_a_rank_works(int begin, int end);

  MpiGroup& group_;
  const CallContext& call_;
  std::string what_;
  std::chrono::steady_clock::time_point start_;
  std::vector<Message> messages_;
  std::vector<Stream> streams_;
  std::vector<int> unfinished_streams_;  ///< streams with messages to start
  std::vector<MPI_Request> requests_;    ///< what MPI has not finished
  std::vector<Request> of_request_;
  std::vector<PacedFragment> paced_;         ///< what MPI has not got yet; in order within a stream
  std::vector<std::int32_t> awaited_words_;  ///< by peer: where the next word arrives
  std::vector<bool> awaits_word_;            ///< by peer: whether a word is to arrive
  std::int64_t missing_bytes_[2] = {0, 0};   ///< to receive from, and to send to, other nodes
  int near_messages_ = 0;                    ///< messages with ranks of this node that are not done
  int last_finished_ = 0;                    ///< requests that the last test() found finished
  std::vector<int> finished_;                ///< used by test() alone
  std::vector<MPI_Status> statuses_;
};

}  // namespace moe
