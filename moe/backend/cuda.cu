#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "db/console/format_rows.h"
#include "db/console/log.h"
#include "moe/backend/backend.h"
#include "moe/backend/cuda/device_part.cuh"
#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_check.cuh"
#include "moe/backend/cuda_exec.cuh"
#include "moe/backend/cuda_marks.cuh"
#include "moe/backend/cuda_stream.cuh"
#include "moe/kernels/execute.h"
#include "moe/kernels/pattern.h"

namespace moe {
namespace {

class CudaBackend : public Backend {
 public:
  CudaBackend(int device, double time_limit_s, DeviceShare share)
      : device_(device), share_(share), waits_(device, time_limit_s), part_(chosen(device), share) {
    streams_.reserve(kStreamCount);
    for (int stream = 0; stream < kStreamCount; ++stream) {
      streams_.emplace_back(waits_, static_cast<Stream>(stream), part_);
    }
    at(Stream::compute).blas();
    at(Stream::compute).make_blas_memory();
    at(Stream::compute).use_for_attention(FusedAttention::chosen());
    at(Stream::compute).make_staging();
    at(Stream::host).make_staging();
  }
  /// Freeing memory waits for the device without limit. Where work on the device does not end, its
  /// memory is left until the process ends.
  ~CudaBackend() override {
    if (cudaSetDevice(device_) != cudaSuccess) cudaGetLastError();
    // Another rank of this process may be about to read this memory, or hang.
    const bool fails = share_.of > 1 && std::uncaught_exceptions() > exceptions_;
    const double limit_s = waits_.expired() || fails ? kShortWait_s : kLongWait_s;
    for (const DeviceStream& stream : streams_) {
      if (DeviceWaits::ends(stream.get(), limit_s)) continue;
      db::log_error("CUDA device " + std::to_string(device_) +
                    " is still at work and keeps its memory");
      arena_.leak();
      for (PinnedMemory& block : host_blocks_) block.leak();
      for (DeviceStream& other : streams_) other.leak();
      return;
    }
    if (fails) arena_.leak();
  }

  std::string name() const override {
    const DeviceStream& compute = streams_[static_cast<std::size_t>(Stream::compute)];
    return device_text() + ", attention in bf16 by " +
           (compute.fused_attention() != nullptr ? fused_library_name() : "tiles");
  }

  /// Growing takes room for both arenas for a moment. Where there is none, what is kept goes through
  /// the host's memory.
  std::byte* arena(std::int64_t bytes) override {
    use_device();
    if (bytes <= arena_bytes_) return static_cast<std::byte*>(arena_.get());
    const std::int64_t kept = std::min(kept_bytes_, arena_bytes_);
    for (const DeviceStream& stream : streams_) {
      if (arena_) drain(stream);
    }
    DeviceMemory grown = memory_of(bytes);
    if (!grown && arena_ && bytes <= cuda_free_bytes(device_) + arena_bytes_) {
      return regrow(bytes, kept);
    }
    if (!grown) throw_no_room(bytes);
    if (kept > 0) {
      check(cudaMemcpyAsync(grown.get(), arena_.get(), static_cast<std::size_t>(kept),
                            cudaMemcpyDeviceToDevice, at(Stream::compute).get()),
            "cudaMemcpyAsync");
      drain(at(Stream::compute));
    }
    arena_ = std::move(grown);
    arena_bytes_ = bytes;
    return static_cast<std::byte*>(arena_.get());
  }
  void keep_of_arena(std::int64_t bytes) override { kept_bytes_ = bytes; }

  std::byte* host_block(std::int64_t bytes) override {
    use_device();
    const std::string size = db::format_cell("bytes", bytes);
    void* memory = nullptr;
    const cudaError_t status =
        cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // forgets it
      throw OutOfMemory("memory of the host: " + size +
                            " of pinned memory asked for: offload less, lower global_batch, or "
                            "use more ranks",
                        bytes);
    }
    check(status, "cudaHostAlloc");
    if (bytes > kSaidPinnedBytes) {
      db::log_info("pinned " + size + " of the host's memory for what is offloaded");
    }
    host_blocks_.emplace_back(memory);
    return static_cast<std::byte*>(memory);
  }
  void free_host_blocks() override {
    use_device();
    for (const DeviceStream& stream : streams_) {
      if (!host_blocks_.empty()) drain(stream, "what is offloaded to be free");
    }
    host_blocks_.clear();
  }

  void post(std::byte* device, std::span<const std::byte> host, Stream stream) override {
    use_device();
    at(stream).post(device, host);
  }
  void download_all(std::span<const HostCopy> copies, Stream stream) override {
    use_device();
    at(stream).download(copies);
  }

  void execute_together(std::span<const BoundOp* const> ops) override {
    use_device();
    CudaExec exec(at(ops.front()->op->stream));
    const bool sum = std::holds_alternative<Add>(ops.front()->op->kind);
    if (ops.size() > 1 && !sum) return exec.updates(ops);
    if (ops.size() == 2 && exec.residual_norm(*ops[0], *ops[1])) return;
    for (const BoundOp* op : ops) execute_op(exec, *op);
  }

  void fill(const View& tensor, const InitialValues& values) override {
    use_device();
    CudaExec(at(Stream::compute)).fill(tensor, values);
    drain(at(Stream::compute), "initial values");
  }

  void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) override {
    use_device();
    CudaExec exec(at(Stream::host));
    lay_pattern_by(exec, arena, begin, end);
    drain(at(Stream::host), "a pattern to be laid");
  }
  std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                              std::int64_t end) override {
    use_device();
    DeviceStream& stream = at(Stream::compute);
    CudaExec exec(stream);
    auto* const on_device = static_cast<int*>(stream.workspace());
    constexpr std::int64_t kMost = (DeviceStream::kWorkspaceBytes / sizeof(int)) * kPatternChunk *
                                   kPatternWord;  // bytes whose chunks have room there
    for (std::int64_t last = end; last > begin;) {
      const std::int64_t first = std::max(begin, last - kMost);
      std::vector<int> ends(static_cast<std::size_t>(pattern_chunks(last - first)));
      find_pattern_ends(exec, arena, first, last, on_device);
      stream.download(std::as_writable_bytes(std::span(ends)),
                      reinterpret_cast<const std::byte*>(on_device));
      const std::int64_t found = pattern_end(first, ends);
      if (found > first) return found;
      last = first;
    }
    return begin;
  }

  std::string multiplies_by() override {
    return "cuBLAS " + std::to_string(cublasLtGetVersion()) + " on " + device_text() + ", " +
           std::to_string(at(Stream::compute).multiprocessors()) + " multiprocessors";
  }
  std::vector<ProductWay> time_products(std::span<const Product> products) override {
    use_device();
    return moe::time_products(at(Stream::compute), waits_, products);
  }
  void take_ways(std::vector<ProductWay> ways) override {
    use_device();
    at(Stream::compute).take_ways(std::move(ways));
  }

  Mark record(Stream stream, bool timed) override {
    use_device();
    const auto [mark, event] = marks_.next(timed);
    check(cudaEventRecord(event, at(stream).get()), "cudaEventRecord");
    return mark;
  }
  void wait(Stream stream, Mark mark) override {
    use_device();
    check(cudaStreamWaitEvent(at(stream).get(), marks_.event(mark), 0), "cudaStreamWaitEvent");
  }
  double time_of(Mark mark) override {
    use_device();
    return marks_.time_of(mark, waits_);
  }
  double time_error_s() override { return marks_.error_s(); }
  void forget_marks() override {
    use_device();
    marks_.forget(at(Stream::compute).get(), waits_);
  }

  void watch(DeviceWatch watch) override { waits_.watch(std::move(watch)); }

  void* native_stream(Stream stream) override {
    return stream == Stream::host ? nullptr : at(stream).get();
  }

 private:
  static int chosen(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    return device;
  }
  /// The device, and what this rank has of it.
  std::string device_text() const {
    const std::string name = cuda_device_name(device_);
    if (share_.of == 1) return name;
    const int part = part_.multiprocessors();
    return name + ", shared by " + std::to_string(share_.of) + " ranks" +
           (part > 0 ? " with " + std::to_string(part) + " multiprocessors each"
                     : ", whose multiprocessors this driver does not divide");
  }
  /// CUDA keeps the current device per host thread, and each stream has a thread.
  void use_device() const { check(cudaSetDevice(device_), "cudaSetDevice"); }
  /// Waits until all work issued on the stream is done; `what` says in an error what is waited for.
  void drain(const DeviceStream& stream, const char* what = "an arena to be free to grow") {
    const OwnedEvent end = make_event(cudaEventDisableTiming);
    check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    waits_.until(end.get(), what);
  }
  /// Nothing where there is no room.
  static DeviceMemory memory_of(std::int64_t bytes) {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // forgets it
      return {};
    }
    check(status, "cudaMalloc");
    return DeviceMemory(memory);
  }
  [[noreturn]] void throw_no_room(std::int64_t bytes) const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const auto text = [](auto count) {
      return db::format_cell("bytes", static_cast<std::int64_t>(count));
    };
    throw OutOfMemory("arena: " + text(bytes) + " asked for on " + cuda_device_name(device_) +
                          ", " + text(free) + " of " + text(total) + " are free" +
                          (arena_ ? ", " + text(arena_bytes_) + " held before" : "") +
                          ": lower --memory-limit or global_batch, or use more ranks",
                      bytes);
  }
  /// Gives the arena back before the larger one is taken. Memory that is in pieces may not hold it:
  /// then the arena is as it was.
  std::byte* regrow(std::int64_t bytes, std::int64_t kept) {
    std::vector<std::byte> saved(static_cast<std::size_t>(kept));
    at(Stream::host).download(saved, static_cast<const std::byte*>(arena_.get()));
    arena_ = DeviceMemory();
    DeviceMemory grown = memory_of(bytes);
    const bool has_room = static_cast<bool>(grown);
    if (!has_room) grown = memory_of(arena_bytes_);
    if (!grown) throw_no_room(bytes);
    arena_ = std::move(grown);
    auto* const base = static_cast<std::byte*>(arena_.get());
    at(Stream::host).post(base, saved);
    drain(at(Stream::host));
    if (!has_room) throw_no_room(bytes);
    arena_bytes_ = bytes;
    return base;
  }
  DeviceStream& at(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }

  static constexpr double kLongWait_s = 60, kShortWait_s = 5;

  int device_;
  DeviceShare share_;
  const int exceptions_ = std::uncaught_exceptions();
  DeviceWaits waits_;
  DevicePart part_;
  DeviceMemory arena_;
  std::int64_t arena_bytes_ = 0;
  std::int64_t kept_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::vector<PinnedMemory> host_blocks_;
  std::vector<DeviceStream> streams_;
  Marks marks_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int device, double time_limit_s, DeviceShare share) {
  const int count = cuda_device_count();
  if (count == 0) {
    int none = 0;
    const cudaError_t status = cudaGetDeviceCount(&none);
    cudaGetLastError();  // forgets it
    throw Unavailable(std::string("no CUDA device: ") + cudaGetErrorString(status));
  }
  if (device < 0 || device >= count) {
    throw Unavailable("no CUDA device " + std::to_string(device) + ": there are " +
                      std::to_string(count));
  }
  auto backend = std::make_unique<CudaBackend>(device, time_limit_s, share);
  try {
    // Waits for the device, which may not end its work: then the destructor leaves its memory.
    backend->forget_marks();
  } catch (const DeviceTimeLimit& error) {
    throw TimeLimit(std::string("start of the device: ") + error.what());
  }
  return backend;
}

}  // namespace moe
