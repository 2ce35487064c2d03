#include "tests/cuda_emulation/streams.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/report.h"
#include "tests/cuda_emulation/settings.h"
#include "tests/cuda_emulation/stream.h"
#include "tests/cuda_emulation/stream_queue.h"
#include "tests/cuda_emulation/thread_sanitizer.h"
#include "tests/cuda_emulation/unwritten.h"

namespace moelab::cuda_emulation {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One record of an event. It is reached when the work at its place is done; the time is read then.
struct Point {
  std::shared_ptr<StreamQueue> queue;
  std::uint64_t place = 0;
  std::atomic<double> time_s = 0;
};

}  // namespace
}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

struct CUstream_st {
  std::shared_ptr<emulation::StreamQueue> queue;
  std::thread thread;
};

struct CUevent_st {
  bool timing = true;
  std::mutex mutex;
  std::shared_ptr<emulation::Point> latest;  ///< nullptr before the first record
};

namespace moelab::cuda_emulation {
namespace {

/// The handles that are in use.
struct Handles {
  std::mutex mutex;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::uint64_t streams_made = 0;
  std::atomic<std::int64_t> records = 0, copies_to_devices = 0;
};

Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}

std::shared_ptr<StreamQueue> queue_of(cudaStream_t stream) {
  const Unordered unordered;
  const std::lock_guard lock(handles().mutex);
  if (!handles().streams.contains(stream)) {
    throw Refusal(cudaErrorInvalidResourceHandle,
                  stream == nullptr
                      ? "the default stream: expected one of cudaStreamCreateWithFlags"
                      : "a stream that is not there, or no longer");
  }
  return stream->queue;
}

void check_event(cudaEvent_t event) {
  const Unordered unordered;
  const std::lock_guard lock(handles().mutex);
  if (handles().events.contains(event)) return;
  throw Refusal(cudaErrorInvalidResourceHandle, "an event that is not there, or no longer");
}

std::shared_ptr<Point> latest_of(cudaEvent_t event) {
  check_event(event);
  const std::lock_guard lock(event->mutex);
  return event->latest;
}

/// The fault "event": the record is never reached. All behind it waits until the stream is gone.
void never(StreamQueue& queue) {
  while (!queue.is_closing()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
  check_event(event);
  auto point = std::make_shared<Point>();
  point->queue = queue_of(stream);
  const bool hangs = ++handles().records == settings().event_that_never_comes;
  const std::lock_guard lock(event->mutex);
  StreamQueue& queue = *point->queue;
  // The queue holds the work, and the work must not hold the queue.
  point->place = queue.add("cudaEventRecord", [&queue, hangs, weak = std::weak_ptr(point)] {
    if (hangs) never(queue);
    if (const auto reached = weak.lock()) reached->time_s = now_s();
  });
  event->latest = std::move(point);
  return cudaSuccess;
}

const char* name_of(cudaMemcpyKind kind) {
  constexpr const char* names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                   "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice",
                                   "cudaMemcpyDefault"};
  return names[kind];
}

/// Whether each side is on the device that the kind says; pinned memory is the host's.
void check_kind(void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return;
  const bool to_device = allocation_of(to)->kind == MemoryKind::device;
  const bool from_device = allocation_of(from)->kind == MemoryKind::device;
  const bool says_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool says_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device == says_to && from_device == says_from) return;
  throw Refusal(cudaErrorInvalidMemcpyDirection, std::string("cudaMemcpyAsync: ") + name_of(kind) +
                                                     " to " + text_of(to) + " from " +
                                                     text_of(from));
}

void check_no_overlap(const std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to + bytes <= from || from + bytes <= to) return;
  throw std::invalid_argument("cudaMemcpyAsync: " + std::to_string(bytes) + " bytes to " +
                              text_of(to) + " from " + text_of(from) + " overlap");
}

}  // namespace

void enqueue(cudaStream_t stream, std::string name, std::function<void()> work) {
  queue_of(stream)->add(std::move(name), std::move(work));
}

std::uint64_t draw_of(cudaStream_t stream) { return queue_of(stream)->draw(); }

void synchronize(int device) {
  std::vector<std::shared_ptr<StreamQueue>> queues;
  {
    const std::lock_guard lock(handles().mutex);
    for (const cudaStream_t stream : handles().streams) {
      if (stream->queue->device == device) queues.push_back(stream->queue);
    }
  }
  for (const auto& queue : queues) queue->wait_until_done(queue->last_place());
}

}  // namespace moelab::cuda_emulation

using emulation::runtime_call;

cudaError_t cudaDeviceSynchronize() {
  return runtime_call([] {
    emulation::synchronize(emulation::current_device());
    return emulation::error_of(emulation::current_device());
  });
}

namespace {

constexpr int kGreatestPriority = -5;

cudaError_t create_stream(cudaStream_t* stream, bool first) {
  return runtime_call([&] {
    const std::lock_guard lock(emulation::handles().mutex);
    auto made = std::make_unique<CUstream_st>();
    made->queue = std::make_shared<emulation::StreamQueue>(
        emulation::current_device(), ++emulation::handles().streams_made, first);
    made->thread = std::thread([queue = made->queue] {
      cudaSetDevice(queue->device);
      queue->run();
    });
    *stream = made.release();
    emulation::handles().streams.insert(*stream);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return create_stream(stream, false);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  return create_stream(stream, priority < 0);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return runtime_call([&] {
    *priority = emulation::queue_of(stream)->first ? kGreatestPriority : 0;
    return cudaSuccess;
  });
}

/// Returns at once, as CUDA does: work that is left goes on without the handle.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(emulation::handles().mutex);
    if (emulation::handles().streams.erase(stream) == 0) {
      return emulation::keep(cudaErrorInvalidResourceHandle);
    }
  }
  const std::unique_ptr<CUstream_st> owned(stream);
  const bool idle = owned->queue->is_done(owned->queue->last_place());
  owned->queue->close();
  if (idle) {
    owned->thread.join();
  } else {
    owned->thread.detach();
  }
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return runtime_call([&] {
    const auto queue = emulation::queue_of(stream);
    const std::uint64_t place = queue->last_place();
    queue->demand(place);
    return queue->is_done(place) ? emulation::error_of(queue->device) : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return runtime_call([&] {
    const auto queue = emulation::queue_of(stream);
    queue->wait_until_done(queue->last_place());
    return emulation::error_of(queue->device);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return runtime_call([&] {
    const auto point = emulation::latest_of(event);
    if (!point) return cudaSuccess;  // never recorded: nothing to wait for
    emulation::enqueue(stream, "cudaStreamWaitEvent",
                       [point] { point->queue->wait_until_done(point->place); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return runtime_call([&] {
    *event = new CUevent_st;
    (*event)->timing = (flags & cudaEventDisableTiming) == 0;
    const std::lock_guard lock(emulation::handles().mutex);
    emulation::handles().events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(emulation::handles().mutex);
  if (emulation::handles().events.erase(event) == 0) {
    return emulation::keep(cudaErrorInvalidResourceHandle);
  }
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return runtime_call([&] { return emulation::record(event, stream); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return runtime_call([&] {
    const auto point = emulation::latest_of(event);
    if (!point) return cudaSuccess;
    point->queue->demand(point->place);
    if (!point->queue->is_done(point->place)) return cudaErrorNotReady;
    return emulation::error_of(point->queue->device);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return runtime_call([&] {
    const auto point = emulation::latest_of(event);
    if (!point) return cudaSuccess;
    point->queue->wait_until_done(point->place);
    return emulation::error_of(point->queue->device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return runtime_call([&] {
    const auto from = emulation::latest_of(start), to = emulation::latest_of(end);
    if (!start->timing || !end->timing || !from || !to) {
      throw emulation::Refusal(cudaErrorInvalidResourceHandle,
                               "cudaEventElapsedTime: an event without time, or not recorded");
    }
    if (!from->queue->is_done(from->place) || !to->queue->is_done(to->place)) {
      return cudaErrorNotReady;
    }
    *milliseconds = static_cast<float>((to->time_s - from->time_s) * 1e3);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return runtime_call([&] {
    const auto queue = emulation::queue_of(stream);
    if (bytes == 0) return cudaSuccess;
    emulation::check_device_pointer(to, bytes, "cudaMemcpyAsync to");
    emulation::check_device_pointer(from, bytes, "cudaMemcpyAsync from");
    emulation::check_kind(to, from, kind);
    emulation::check_no_overlap(static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
                                bytes);
    emulation::count_copy(emulation::allocation_of(to)->kind, emulation::allocation_of(from)->kind,
                          static_cast<std::int64_t>(bytes));
    if (emulation::allocation_of(to)->kind == emulation::MemoryKind::device &&
        ++emulation::handles().copies_to_devices == emulation::settings().lost_copy) {
      return cudaSuccess;
    }
    queue->add("cudaMemcpyAsync", [=] { emulation::copy_with_marks(to, from, bytes); });
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return runtime_call([&] {
    emulation::check_device_pointer(memory, bytes, "cudaMemset");
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return runtime_call([&] {
    const auto queue = emulation::queue_of(stream);
    emulation::check_device_pointer(memory, bytes, "cudaMemsetAsync");
    queue->add("cudaMemsetAsync", [=] { std::memset(memory, value, bytes); });
    return cudaSuccess;
  });
}
