#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "tests/cuda_emulation/settings.h"

namespace moelab::cuda_emulation {

/// The work of one stream, in order. Only adding work and waiting until it is done order threads.
/// Its handle and its thread share it, so that a stream can be destroyed while its work does not
/// end.
///
/// Work runs late, so that nobody relies on its having run: in the order from last to first as late
/// as somebody asks for it, in a drawn order sometimes so. After a few milliseconds it runs in any
/// case, because the one who needs it may ask elsewhere. Streams of a higher priority are held back
/// for far longer: a priority promises nothing, and what overtakes communication would show.
class StreamQueue {
 public:
  StreamQueue(int in_device, std::uint64_t number, bool goes_first);

  /// Its place in the stream, from 1 on.
  std::uint64_t add(std::string name, std::function<void()> work);
  /// Somebody asks for all work up to `place`.
  void demand(std::uint64_t place);
  bool is_done(std::uint64_t place);
  void wait_until_done(std::uint64_t place);
  std::uint64_t last_place();

  /// True once the handle is gone: work that never ends may end then.
  bool is_closing();
  void close();

  /// The thread of the stream: returns when the queue is closed and empty.
  void run();

  /// Where the drawn order of the next work starts.
  std::uint64_t draw();

  const int device;
  const bool first;  ///< of a higher priority

 private:
  struct Work {
    std::string name;
    std::function<void()> body;
    std::unique_ptr<char> tag;  ///< for the thread sanitizer: what came before it was added
  };

  bool take(Work& work);
  void hold_back(std::unique_lock<std::mutex>& lock);
  void carry_out(const Work& work) const;
  char& tag_of(std::uint64_t place) { return tags_[place % tags_.size()]; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::uint64_t added_ = 0, done_ = 0, demanded_ = 0;
  bool closing_ = false;
  std::array<char, 64> tags_{};  ///< for the thread sanitizer: what came before a place was done
  Random lateness_;              ///< of the stream's thread
  const std::uint64_t number_;
};

}  // namespace moelab::cuda_emulation
